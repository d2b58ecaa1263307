from bench_fixtures import lone_backend, shared, worlds

__all__ = ["lone_backend", "shared", "worlds"]
