from repository_fixtures import backend, cache, repository, store

__all__ = ["backend", "cache", "repository", "store"]
