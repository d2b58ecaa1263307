from repository_fixtures import backend, cache, repository, taken

__all__ = ["backend", "cache", "repository", "taken"]
