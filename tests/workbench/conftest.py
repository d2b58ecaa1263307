from bench_fixtures import backend, bench, shared, worlds

__all__ = ["backend", "bench", "shared", "worlds"]
