"""Reads rows of other tools' datasets as tasks of a pool. They are untrusted: each is imported whole or skipped."""
