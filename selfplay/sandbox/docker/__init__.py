"""The production backend: hardened containers of a Docker engine, or of another engine with the same API."""
