"""The injector's prompt."""

from typing import Any

from selfplay import prompts
from selfplay.artifact import FILE_NAMES
from selfplay.roles.injector.task import SUBMISSION, InjectorTask
from selfplay.sandbox import WORKDIR

HANDED_IN = tuple(FILE_NAMES.values())


def injector_prompt(task: InjectorTask) -> str:
    """The prompt of the free-running injector."""
    return prompts.render("injector", names=HANDED_IN, **variables(task))


def variables(task: InjectorTask) -> dict[str, Any]:
    """The variables of the injector's templates."""
    return {
        "root": WORKDIR,
        "submission": SUBMISSION,
        "strategy": task.strategy,
        "seed_location": task.seed_location,
        "seconds": round(task.seconds),
        "min_passing_tests": task.min_passing_tests,
        "min_changed_files": task.min_changed_files,
        "min_failing_tests": task.min_failing_tests,
    }
