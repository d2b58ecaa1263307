"""Grade one prediction (SSR section 6), and refuse to be fooled by it.

original, bug, weakening, (order 2: failed attempt), prediction; the oracle's test files restored; script; parser.
Resolved means: every F2P and P2P id present and passed, and no layer of the defence caught anything. The layers, what
each can and cannot see, are described in docs/exploits.md. Deviation from the paper: it has no such defence.
"""

from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from selfplay.oracle import layers
from selfplay.oracle.calibrate import Calibration, Hopeless, Oracle, calibrate, find_hopeless
from selfplay.oracle.errors import PredictionError
from selfplay.oracle.layers import Layer
from selfplay.oracle.originals import original_texts
from selfplay.oracle.paths import refusal
from selfplay.oracle.prediction import ReadPrediction, read_prediction
from selfplay.oracle.settings import changed_settings, is_settings_file
from selfplay.oracle.trial import Order, Trial, run_trial
from selfplay.oracle.world import Task
from selfplay.plain import decode
from selfplay.sandbox import WORKDIR, Backend, Limits, Sandbox, SandboxError
from selfplay.workbench.staging import DoesNotApply, apply_diffs


@dataclass(frozen=True)
class Grade:
    """`reason` is one of a few names (`resolved`, `empty`, `malformed`, `does-not-apply`, `failing-tests`, the name of
    a layer, ...), `detail` one line for a person. `runs`: suite runs; `seconds`: wall time of the scripts."""

    resolved: bool
    reason: str
    detail: str
    layers: tuple[Layer, ...] = ()
    missing: tuple[str, ...] = ()
    failing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    runs: int = 0
    seconds: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Plain values, in the order a person reads them."""
        return {
            "resolved": self.resolved, "reason": self.reason, "detail": self.detail, "runs": self.runs,
            "seconds": round(self.seconds, 3), "notes": list(self.notes), "missing": list(self.missing),
            "failing": list(self.failing), "layers": [layer.to_json() for layer in self.layers],
        }  # fmt: skip


class Grader:
    """Grades predictions for one bug; calibrates its layers on the original once, when first needed.

    `counterfactual`: also run the tests made impossible (one suite run more, for predictions that pass).
    """

    def __init__(
        self, backend: Backend, task: Task, oracle: Oracle, limits: Limits = Limits(), *, counterfactual: bool = True
    ) -> None:
        self._backend, self._task, self._oracle, self._limits = backend, task, oracle, limits
        self._counterfactual = counterfactual
        self._known: Calibration | None = None
        self._hopeless: Hopeless | None = None
        self._lock = Lock()

    @property
    def calibration(self) -> Calibration:
        """Raises `OracleError` when the original fails its own tests."""
        with self._lock:  # attempts at one bug are graded side by side
            if self._known is None:
                self._known = calibrate(self._backend, self._task, self._oracle, self._limits)
            return self._known

    def _impossible(self) -> Hopeless:
        """The tests made impossible, found once."""
        known = self.calibration
        with self._lock:
            if self._hopeless is None:
                self._hopeless = find_hopeless(self._backend, self._task, self._oracle, known, self._limits)
            return self._hopeless

    def grade(self, prediction: bytes | str) -> Grade:
        """The grade of a prediction; whatever it does is the grade's reason.

        Raises `OracleError` for a bug that cannot be graded, `SandboxError` when no sandbox can be had."""
        try:
            read = read_prediction(prediction)
        except PredictionError as error:
            return Grade(False, error.reason, error.message, (layers.caught("patch", error.message),))
        form = layers.passed("patch", "a git diff")
        refused = self._refused(read)
        if refused:
            return Grade(False, refused[0], refused[1], (form, layers.caught("paths", refused[1])), notes=read.notes)
        before = (form, layers.passed("paths", "neither tests nor what runs them are touched"))
        return replace(self._run(read.diff, before), notes=read.notes)

    def grade_untouched(self) -> Grade:
        """The grade of the world as the solver gets it, run like any prediction: of a sound bug, not resolved.

        Raises as `grade` does."""
        return self._run("", ())

    def _refused(self, read: ReadPrediction) -> tuple[str, str] | None:
        for section in read.sections:
            why = refusal(section, self._task.artifact, self._original)
            if why:
                return why
        script = self._task.artifact.test_script
        touched = {path for section in read.sections for path in section.paths if is_settings_file(path, script)}
        if not touched:
            return None
        with self._backend.open(self._task.world, self._limits) as sandbox:
            try:
                apply_diffs(sandbox, self._task.diffs)
                before = {path: _text(sandbox, path) for path in touched}
                apply_diffs(sandbox, (read.diff,))
            except DoesNotApply:
                return None  # the run says so
            reasons = (changed_settings(path, before[path], _text(sandbox, path), script) for path in sorted(touched))
            return next((("touches-infrastructure", why) for why in reasons if why), None)

    def _original(self, path: str) -> str | None:
        return original_texts(self._task.world, [path]).get(path)

    def _run(self, diff: str, before: tuple[Layer, ...]) -> Grade:
        known, oracle = self.calibration, self._oracle
        limit = min(oracle.seconds, 10 * known.seconds + 10)
        diffs = (*self._task.diffs, diff) if diff else self._task.diffs
        order = Order(diffs, limit, files=known.made.files, compiled=known.compiled, witness=bool(known.witnessed))
        trial = self._trial(order)
        spent = Grade(False, "", "", before, runs=int(trial.stage != "apply"), seconds=trial.seconds)
        broken = _broken(trial)
        if broken:
            return replace(spent, reason=broken[0], detail=broken[1], layers=(*before, layers.caught("run", broken[1])))
        said = tuple(judge(trial, known, oracle) for judge in layers.OF_A_RUN)
        spent = replace(spent, layers=(*before, layers.passed("run", f"ended within {limit:.0f} s"), *said))
        return self._judged(spent, trial, diff, limit)

    def _judged(self, grade: Grade, trial: Trial, diff: str, limit: float) -> Grade:
        """The outcomes, and the layers that ask for them."""
        oracle, known = self._oracle, self.calibration
        missing = tuple(sorted(oracle.wanted - trial.outcomes.keys()))
        failing = tuple(sorted(oracle.wanted & trial.outcomes.keys() - trial.passed))
        grade = replace(grade, missing=missing, failing=failing)
        stopped = _caught(grade)
        if stopped:
            return stopped
        if failing or missing:
            reason = "failing-tests" if failing else "missing-tests"
            first = (*failing, *missing)[0]
            return replace(
                grade,
                reason=reason,
                detail=f"{len(failing)} tests fail and {len(missing)} are missing, first {first!r}",
            )
        grade = replace(grade, layers=(*grade.layers, layers.names(trial, known, oracle)))
        stopped = _caught(grade)
        if stopped:
            return stopped
        layer, seconds = self._turned(diff, limit)
        grade = replace(
            grade, layers=(*grade.layers, layer), runs=grade.runs + layer.runs, seconds=grade.seconds + seconds
        )
        return _caught(grade) or replace(grade, resolved=True, reason="resolved", detail=_sentence(oracle))

    def _turned(self, diff: str, limit: float) -> tuple[Layer, float]:
        """The counterfactual: with tests that cannot pass, or where there are none with the bug planted back, F2P
        tests fail again."""
        name, known, bug = "counterfactual", self.calibration, self._task.artifact.bug_inject
        if not self._counterfactual:
            return Layer(name, "skipped", "was not asked for"), 0.0
        never = self._impossible()
        hopeless = never.tests & self._oracle.fail_to_pass
        diffs = (*self._task.diffs, diff)
        if hopeless:
            trial = self._trial(
                Order(
                    diffs,
                    limit,
                    files=never.files,
                    compiled=never.compiled,
                    witness=bool(known.witnessed),  # a run like the first, so that nothing tells them apart
                )
            )
            still = sorted(trial.passed & never.tests)
            if still:
                return layers.caught(name, f"{still[0]!r} passes even when it is made impossible", 1), trial.seconds
            return layers.passed(name, f"{len(hopeless)} F2P tests fail when made impossible", 1), trial.seconds
        trial = self._trial(Order(diffs, limit, optional=bug))
        if not trial.planted:
            return layers.unavailable(name, "the bug cannot be planted back into this prediction"), trial.seconds
        if trial.stage is None and self._oracle.fail_to_pass <= trial.passed:
            return layers.caught(name, "every F2P test passes with the bug planted back", 1), trial.seconds
        return layers.passed(name, "F2P tests fail with the bug planted back", 1), trial.seconds

    def _trial(self, order: Order) -> Trial:
        return run_trial(self._backend, self._task.world, self._task.artifact, order, self._limits)


def _text(sandbox: Sandbox, path: str) -> str | None:
    try:
        return decode(sandbox.read_file(f"{WORKDIR}/{path}"))
    except (FileNotFoundError, SandboxError):
        return None


def _broken(trial: Trial) -> tuple[str, str] | None:
    """(reason, sentence) of a run that gave no outcomes."""
    if trial.timed_out:
        return "timeout", f"the tests did not end within {trial.seconds:.0f} s"
    reasons = {"apply": "does-not-apply", "script": "sandbox-lost", "parser": "no-results"}
    return (reasons[trial.stage], trial.error) if trial.stage else None


def _caught(grade: Grade) -> Grade | None:
    for layer in grade.layers:
        if layer.state == "caught":
            return replace(grade, reason=layer.name, detail=layer.reason)
    return None


def _sentence(oracle: Oracle) -> str:
    return f"all {len(oracle.fail_to_pass)} F2P and {len(oracle.pass_to_pass)} P2P tests pass"
