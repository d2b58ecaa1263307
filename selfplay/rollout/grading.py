"""A grader of one bug whose calibration is made when it is first needed, and shared by attempts side by side."""

from threading import Lock

from selfplay.oracle.calibrate import calibrate
from selfplay.oracle.calibration import Oracle
from selfplay.oracle.grade import Grade, Grader, grade_without_running
from selfplay.oracle.world import Task
from selfplay.sandbox import Backend, Limits


class SharedGrader:
    """Grades predictions for one bug from many threads.

    `counterfactual`: also run the tests made impossible (one suite run more, for predictions that pass).
    """

    def __init__(
        self, backend: Backend, task: Task, oracle: Oracle, limits: Limits = Limits(), *, counterfactual: bool = True
    ) -> None:
        self._backend, self._task, self._oracle, self._limits = backend, task, oracle, limits
        self._asked = counterfactual
        self._grader: Grader | None = None
        self._lock = Lock()

    def grade(self, prediction: bytes | str) -> Grade:
        """The grade of a prediction. Raises `OracleError` for a bug that cannot be graded, `SandboxError`."""
        refused = grade_without_running(self._task, prediction)
        return refused or self._ready().grade(self._backend, prediction)

    def grade_untouched(self) -> Grade:
        """The grade of the world as the solver gets it. Raises as `grade` does."""
        return self._ready().grade_untouched(self._backend)

    def _ready(self) -> Grader:
        with self._lock:
            if self._grader is None:
                known = calibrate(
                    self._backend, self._task, self._oracle, self._limits, counterfactual=self._asked
                )  # fmt: skip
                self._grader = Grader(self._task, self._oracle, self._limits, known, self._asked)
            return self._grader
