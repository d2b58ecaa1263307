"""The solver as a script."""
