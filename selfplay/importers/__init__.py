"""Rows of other tools' datasets, read as tasks of a pool. A stranger wrote them: each is taken whole or skipped."""
