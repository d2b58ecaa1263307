"""Many episodes: the loops that play roles in sandboxes, check what comes out and store it."""
