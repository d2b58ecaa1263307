"""From the user's source to a tree, an environment and a measured test suite. Knows nothing about bugs."""

from selfplay.repository.cache import default_cache
from selfplay.repository.errors import (
    BuildFailed,
    CacheError,
    NoInterpreter,
    NoPassingTests,
    NoTests,
    NoToolchain,
    RepositoryError,
    SourceError,
)
from selfplay.repository.prepare import prepare, rebuild, write_original
from selfplay.repository.prepared import MeasuredRepository, Prepared, Suite
from selfplay.repository.suites import runners
from selfplay.repository.suites.suite import measure_suite

__all__ = [
    "BuildFailed",
    "CacheError",
    "MeasuredRepository",
    "NoInterpreter",
    "NoPassingTests",
    "NoTests",
    "NoToolchain",
    "Prepared",
    "RepositoryError",
    "SourceError",
    "Suite",
    "default_cache",
    "measure_suite",
    "prepare",
    "rebuild",
    "runners",
    "write_original",
]
