"""Edits of source text as values, which both scripts use."""
