"""The solver's task: everything its prompt says, as a value."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SolverTask:
    """The task of one attempt. `specification` is the reversed weakening, a git diff of test files: the repository must
    be changed so that these tests pass (SSR section 6). An imported task has a `statement` in words, which is shown
    instead.

    `bug` (its id), `seed` and `number` (the attempt's, from 0) fix every random choice. The solver submits the
    repository's root; what it changed there is the prediction.
    """

    bug: str
    specification: str
    seed: int = 0
    number: int = 0
    statement: str | None = None
