"""A source that a user names -> one commit with its history. Reading it happens in a sandbox (`quarantine.py`)."""
