"""The injector: gets a repository with its history, plants a bug, hides it from the tests, and submits five files.

`task.py` is its task as a value, `prompt.py` puts the task in words, `staged.py` plays it in three conversations, and
`collect.py` takes the artifact out of its sandbox.
"""

from selfplay.agent.tools import SSR_TOOLS
from selfplay.roles.injector.prompt import HANDED_IN, injector_prompt
from selfplay.roles.injector.staged import StagedInjector
from selfplay.roles.injector.task import InjectorTask
from selfplay.roles.role import Role

INJECTOR: Role[InjectorTask] = Role(
    name="injector",
    toolset=SSR_TOOLS,
    hand_in=HANDED_IN,
    prompt=injector_prompt,
    key=lambda task: f"injector:{task.seed}:{task.number}",
    staged=StagedInjector,
)
