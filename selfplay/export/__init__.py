"""Runs in the formats that other tools read, one module per format. Knows nothing about how bugs are made."""
