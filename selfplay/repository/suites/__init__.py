"""A repository's own tests: found, run by their runner, measured."""
