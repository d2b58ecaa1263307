"""What the solver is told: everything a prompt would say, as a value."""

from dataclasses import dataclass


@dataclass(frozen=True)
class SolverTask:
    """One attempt's task. `specification` is the reversed weakening, a git diff of test files: the repository must be
    changed so that these tests pass (SSR section 6).

    `bug` (its id), `seed` and `number` (the attempt's, from 0) fix every random choice. The solver hands in by
    submitting the repository's root; what it changed there is the prediction.
    """

    bug: str
    specification: str
    seed: int = 0
    number: int = 0
