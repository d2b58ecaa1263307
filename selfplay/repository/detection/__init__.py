"""What a tree declares, read as data: language, requirements, Python versions, licence."""
