"""The solver: gets a broken repository and the tests that say what is right, and hands in the repaired repository.

`task.py` says what it is told as a value, `prompt.py` in words; `collect.py` takes the patch out of its world.
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
