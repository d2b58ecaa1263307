"""The production backend: hardened containers of a Docker engine, or of whatever else speaks its API."""
