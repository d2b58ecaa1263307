"""Runs in the formats that others read, one module a format. Knows nothing of how bugs are made."""
