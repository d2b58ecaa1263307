"""The solver's prompt."""

from selfplay import prompts
from selfplay.roles.solver.task import SolverTask
from selfplay.sandbox import WORKDIR


def solver_prompt(task: SolverTask) -> str:
    """The fixed issue with the reversed weakening (SSR section 6), or with the statement of an imported task."""
    if task.statement is not None:
        return prompts.render("solver_imported", root=WORKDIR, statement=task.statement.strip())
    return prompts.render("solver", root=WORKDIR, specification=task.specification.rstrip("\n"))
