from bench_fixtures import lone_backend

__all__ = ["lone_backend"]
