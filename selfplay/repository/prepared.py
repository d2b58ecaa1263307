"""What the rest of the package gets from `repository`: a tree, its history, an environment, and its test suite."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from selfplay.sandbox import Mount, World


@dataclass(frozen=True)
class Prepared:
    """One fetched source, with its environment built once, ready to be opened in sandboxes.

    `tree` is the original without `.git` (including untracked files that a build generates); `history` is a folder
    holding only `.git`, whose HEAD commit has exactly `tree`'s tracked content, with tree id `tree_hash`; `bytecode`
    holds only `__pycache__` folders of the original and its tests (a solver's world leaves this layer out). All are
    read-only lower layers. `notes` are lines for the user (a dirty checkout, dropped links). `recorded` is plain JSON,
    from which `rebuild` makes this value again.
    """

    source: str
    revision: str
    commit: str
    tree_hash: str
    language: str
    tree: Path
    history: Path
    mounts: tuple[Mount, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    bytecode: Path | None = None
    recorded: Mapping[str, Any] = field(default_factory=dict)

    def world(self, *, history: bool = False) -> World:
        """The sandbox world of this repository; with `history` the injector's world, whose `/testbed` contains
        `.git`."""
        layers = (self.tree, *((self.bytecode,) if self.bytecode else ()), *((self.history,) if history else ()))
        return World(tree=layers, mounts=self.mounts, env=self.env)


@dataclass(frozen=True)
class Suite:
    """The repository's own tests as they behave at HEAD, measured twice.

    `files`: test files whose tests are used, relative to the root. `seconds`: test id -> seconds of its passing run.
    `failing`: ids that fail or error at HEAD, `flaky`: ids whose outcome varied; both are left out of all scripts.
    `left_out`: test files cut because the suite would exceed the time limit, or that cannot be collected. `command`:
    the user's `--test CMD`, if any. `wall_seconds` and `cpu_seconds`: one whole run. `options` go to the framework
    `runner`; the commands `before` compile the code first. `test_seconds`: limit for one test under pytest (see
    `suites.pytest_suite.script_for`). A suite that was not measured has no tests and no `runner`, but a reason `why`:
    only models can then plant bugs.
    """

    files: tuple[str, ...]
    seconds: Mapping[str, float]
    failing: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    command: str | None = None
    wall_seconds: float = 0.0
    options: tuple[str, ...] = ()
    test_seconds: float = 10.0
    cpu_seconds: float = 0.0
    language: str = "python"
    runner: str = "pytest"
    why: str = ""
    before: tuple[str, ...] = ()

    @property
    def excluded(self) -> tuple[str, ...]:
        return tuple(sorted({*self.failing, *self.flaky}))


class MeasuredRepository(NamedTuple):
    """A prepared repository with its measured suite."""

    prepared: Prepared
    suite: Suite
