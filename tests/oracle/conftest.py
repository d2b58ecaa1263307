from bench_fixtures import backend, shared, worlds

__all__ = ["backend", "shared", "worlds"]
