from bench_fixtures import bench, lone_backend, shared, worlds

__all__ = ["bench", "lone_backend", "shared", "worlds"]
