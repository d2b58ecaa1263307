from bench_fixtures import backend

__all__ = ["backend"]
