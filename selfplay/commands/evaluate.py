"""What `selfplay eval` does, on values: evaluate a policy at the bugs of a run, or the run's injector."""

from dataclasses import dataclass
from pathlib import Path

from selfplay.commands.solve import SolveOrder, SolveWatcher, run_solve
from selfplay.curriculum.evaluation import Evaluation, evaluate
from selfplay.curriculum.injector_evaluation import InjectorEvaluation, evaluate_injector
from selfplay.rl.credit.rules import RoleName
from selfplay.sandbox import Backend


@dataclass(frozen=True)
class EvalOrder:
    """What the user asked for. `solve`: the attempts to evaluate, and how missing ones are made. `stored`: make none.
    `role`: who is evaluated, the solver or the injector whose bugs it attempts. `against`: for a solver the name of
    another policy's attempts, for an injector the folder of another run."""

    solve: SolveOrder
    stored: bool = False
    against: str | None = None
    role: RoleName = "solver"


def run_eval(order: EvalOrder, backend: Backend | None, watcher: SolveWatcher) -> Evaluation | InjectorEvaluation:
    """Make the missing attempts, unless only stored ones are wanted, and evaluate. Needs a `backend` to make any.

    Raises the errors of `run_solve` and of the role's evaluation."""
    solve = order.solve
    if not order.stored:
        if backend is None:
            raise ValueError("attempts are made in a backend")
        run_solve(solve, backend, watcher)
    solver = solve.name or solve.policy
    if order.role == "injector":
        other = Path(order.against) if order.against else None
        return evaluate_injector(solve.run, solver, solve.attempts, other)
    return evaluate(solve.run, solver, solve.attempts, order.against)
