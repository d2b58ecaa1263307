"""What the repository room hands to every other room: a tree, its history, an environment, and its test suite."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from selfplay.sandbox import Mount, World


@dataclass(frozen=True)
class Prepared:
    """One source, fetched, its environment built once, ready to be opened in sandboxes.

    `tree` is the original without `.git` (generated files a build leaves are part of it); `history` is a folder
    holding only `.git`, whose HEAD commit has exactly `tree`'s tracked content. Both are read-only lower layers.
    `tree_hash` is git's tree id of `tree`. `notes` are lines a user should read (a dirty checkout, dropped links).
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

    def world(self, *, history: bool = False) -> World:
        """The sandbox world of this repository; with `history` the injector's, whose `/testbed` has its `.git`."""
        layers = (self.tree, self.history) if history else (self.tree,)
        return World(tree=layers, mounts=self.mounts, env=self.env)


@dataclass(frozen=True)
class Suite:
    """The repository's own tests as they behave at HEAD, measured twice.

    `files`: test files whose tests are used, relative to the root. `seconds`: test id -> seconds of its passing
    run. `failing`: ids that fail or error at HEAD, `flaky`: ids whose outcome varied; both are left out of every
    script. `left_out`: test files cut because the suite would exceed the time limit, or that cannot be collected.
    `command`: the user's `--test CMD`, if any. `wall_seconds`: one whole run.
    """

    files: tuple[str, ...]
    seconds: Mapping[str, float]
    failing: tuple[str, ...] = ()
    flaky: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    command: str | None = None
    wall_seconds: float = 0.0

    @property
    def excluded(self) -> tuple[str, ...]:
        return tuple(sorted({*self.failing, *self.flaky}))
