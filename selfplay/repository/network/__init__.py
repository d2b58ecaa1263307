"""A build's way out: a proxy of ours that knows the configured package indexes."""
