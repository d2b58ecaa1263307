"""What the injector runs inside the sandbox: pytest plugins for the repository's own interpreter."""
