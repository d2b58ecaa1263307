"""Files that run inside the sandbox, as pytest plugins under the repository's own interpreter: standard library only."""
