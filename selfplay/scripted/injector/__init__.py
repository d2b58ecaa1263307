"""The injector as a script."""
