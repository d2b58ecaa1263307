"""Decides which code is the product: not examples, documentation, measurements, builds or releases."""

from pathlib import PurePosixPath

_BESIDE = frozenset(
    ["example", "examples", "sample", "samples", "demo", "demos", "doc", "docs", "documentation", "tutorial",
     "tutorials", "bench", "benchmark", "benchmarks", "asv_bench", "perf", "profiling", "script", "scripts", "tools",
     "ci", "misc", "contrib"]
)  # fmt: skip
_BUILDING = frozenset(["setup.py", "conf.py", "noxfile.py", "tasks.py", "fabfile.py", "conftest.py", "hatch_build.py"])


def is_product(path: str) -> bool:
    """Whether the relative POSIX `path` is code that users of the project run.

    Only the outermost folder counts, also below `src`: a package may have a module `tools`, which users run.
    """
    parts = PurePosixPath(path).parts
    if len(parts) == 1:
        return path.lower() not in _BUILDING
    first = parts[0].lower()
    return not (first in _BESIDE or first.startswith("."))
