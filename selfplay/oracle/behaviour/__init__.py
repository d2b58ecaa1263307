"""Behaviour that no solver was shown: inputs are found, run on original and buggy program, kept, and compared."""
