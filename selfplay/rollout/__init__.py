"""Many episodes: the loops that play roles in sandboxes, check what the episodes produce, and return it as rollouts."""
