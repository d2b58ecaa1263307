"""From a run to how good a policy is at its bugs: what `selfplay eval` does, on values."""

from dataclasses import dataclass

from selfplay.commands.solve import SolveOrder, SolveWatcher, run_solve
from selfplay.curriculum.evaluation import Evaluation, evaluate
from selfplay.sandbox import Backend


@dataclass(frozen=True)
class EvalOrder:
    """What the user asked for. `solve`: the attempts to evaluate, and how missing ones are made. `stored`: make none.
    `against`: the name that another policy's attempts are filed under."""

    solve: SolveOrder
    stored: bool = False
    against: str | None = None


def run_eval(order: EvalOrder, backend: Backend | None, watcher: SolveWatcher) -> Evaluation:
    """Make the missing attempts, unless only stored ones are wanted, and evaluate. Needs a `backend` to make any.

    Raises what `run_solve` and `evaluate` raise."""
    solve = order.solve
    if not order.stored:
        if backend is None:
            raise ValueError("attempts are made in a backend")
        run_solve(solve, backend, watcher)
    return evaluate(solve.run, solve.name or solve.policy, solve.attempts, order.against)
