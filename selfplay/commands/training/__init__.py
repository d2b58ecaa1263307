"""What `selfplay train` does: the parts of a run, its steps, and where each part runs."""
