"""Programs that run in environments of other projects, one each, and print what they measured as JSON."""
