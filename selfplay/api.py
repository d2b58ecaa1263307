"""What programs use from this package: make a curriculum, read its pool and episodes, attempt its bugs, grade a patch.

Each function does what one command does, on values. `docs/api.md` shows them together; all other names may change.
"""

from pathlib import Path
from typing import Any

from selfplay.agent import Call, Policy, Record, play_episode
from selfplay.agent.tools import SSR_TOOLS
from selfplay.commands.curriculum import CurriculumWatcher, run_curriculum
from selfplay.commands.grade import grade_patch
from selfplay.commands.order import Order
from selfplay.commands.solve import SolveOrder, SolveWatcher, run_solve
from selfplay.curriculum import Attempt, Curriculum, RunProgress, read_pool
from selfplay.errors import SelfplayError
from selfplay.oracle.grades import Grade
from selfplay.rollout.stored import load_rollout
from selfplay.sandbox import Backend, World, open_backend
from selfplay.sandbox.workers import Workers


class Quiet:
    """A watcher that prints nothing."""

    def say(self, line: str) -> None: ...

    def expect(self, total: int | None, doing: str = "", done: int = 0) -> None: ...

    def attempt(self, attempt: Attempt) -> None: ...

    def step(self, step: RunProgress) -> None: ...


def make_curriculum(
    order: Order, *, backend: Backend | None = None, watcher: CurriculumWatcher | None = None
) -> dict[str, Any]:
    """Make or resume verified bugs from `order.source` in the folder `order.out`. Returns the summary, whose keys
    `docs/api.md` lists.

    `backend`: where untrusted code runs, bubblewrap if None. Raises `SelfplayError`; what was stored is kept.
    """
    return run_curriculum(order, backend or open_backend(), watcher or Quiet())


def solve_bugs(
    order: SolveOrder, *, backend: Backend | None = None, watcher: SolveWatcher | None = None
) -> dict[str, Any]:
    """Attempt the bugs of the run in `order.run`. Returns its summary. Raises `SelfplayError`."""
    return run_solve(order, backend or open_backend(), watcher or Quiet())


def grade(bug: Path, patch: str, *, backend: Backend | None = None, trust: bool = False) -> Grade:
    """Grade a patch for the bug in the folder `bug`: a git diff against the tree that a solver gets. `trust`: allow
    what a shared run wants to run or fetch.

    Raises `SelfplayError` for a bug that is damaged or cannot be graded; a fault of the patch becomes the reason of its
    grade.
    """
    return grade_patch(bug, patch.encode("utf-8", "surrogateescape"), backend or open_backend(), trust=trust)


__all__ = [
    "SSR_TOOLS",
    "Call",
    "Curriculum",
    "CurriculumWatcher",
    "Grade",
    "Order",
    "Policy",
    "Record",
    "SelfplayError",
    "SolveOrder",
    "Workers",
    "World",
    "grade",
    "load_rollout",
    "make_curriculum",
    "open_backend",
    "play_episode",
    "read_pool",
    "solve_bugs",
]
