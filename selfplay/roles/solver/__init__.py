"""The solver: gets a broken repository and the tests that define the right behaviour, and submits the repaired
repository.

`task.py` is its task as a value, `prompt.py` puts the task in words; `collect.py` takes the patch out of its world.
"""

from selfplay.agent.tools import SSR_TOOLS
from selfplay.roles.role import Role
from selfplay.roles.solver.prompt import solver_prompt
from selfplay.roles.solver.task import SolverTask

SOLVER: Role[SolverTask] = Role(
    name="solver",
    toolset=SSR_TOOLS,
    hand_in=(),
    prompt=solver_prompt,
    key=lambda task: f"solver:{task.seed}:{task.bug}:{task.number}",
)
