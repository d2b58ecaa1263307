"""The one place where an error of ours becomes the grade of one prediction: it touches no other."""

import logging
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from typing import TypeVar

from selfplay import subprocesses
from selfplay.errors import SelfplayError
from selfplay.oracle.grades import Grade
from selfplay.oracle.reasons import BREAKS_GRADER
from selfplay.sandbox import InsideError, MachineError, SandboxError
from selfplay.sandbox.errors import as_lost

log = logging.getLogger(__name__)
T = TypeVar("T")


def _is_of_the_system(error: Exception) -> bool:
    """Whether an error is of what we run on, and not of what is graded."""
    return isinstance(error, OSError | MemoryError | BrokenExecutor | subprocesses.Failed)


def safely(work: Callable[[], T], calibrated: bool = False) -> T | Grade:
    """The result of `work`. Only here an internal error becomes the grade of one prediction: not resolved, with the
    reason, and the traceback in the log. `calibrated`: the bug itself passes these steps, so that the prediction is to
    blame for what fails in them, but for errors of the system. Raises `SandboxError`."""
    try:
        return work()
    except SandboxError:
        raise
    except InsideError as error:
        return Grade(False, BREAKS_GRADER if calibrated else "cannot-be-graded", error.message)
    except SelfplayError as error:  # a bug that cannot be graded, or is damaged
        return Grade(False, "cannot-be-graded", error.message)
    except Exception as error:
        lost = as_lost(error, "a prediction could not be graded")
        if isinstance(lost, MachineError):
            raise lost from error
        log.exception("a prediction could not be graded")
        through_it = calibrated and not _is_of_the_system(error)
        return Grade(False, BREAKS_GRADER if through_it else "error", f"{type(error).__name__}: {error}"[:500])
