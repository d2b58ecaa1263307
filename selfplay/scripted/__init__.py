"""The two roles played without a model: scripts, and the code edits that they share."""
