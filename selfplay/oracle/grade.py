"""Grade one prediction (SSR section 6), and defend the grade against cheating.

Order: original, bug, weakening, (order 2: failed attempt), prediction; then the oracle's test files are restored; then
script and parser run. Resolved means: every F2P and P2P id is present and passed, and no layer of the defence caught
anything. Whether a grade is fully or weakly assured says `assurance.py`, what becomes of a weak one `grades.settled`,
what a person has to look at (`suspect`) `new_code`. docs/exploits.md describes what each layer can and cannot see.
Deviation from the paper: it has no such defence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

from selfplay.formatting import count
from selfplay.oracle import layers
from selfplay.oracle.assurance import Weak
from selfplay.oracle.behaviour.compare import look
from selfplay.oracle.calibration import Calibration
from selfplay.oracle.errors import OracleError, PredictionError, with_prediction
from selfplay.oracle.grades import Grade, settled, stopped_by, with_layer
from selfplay.oracle.layers import Layer
from selfplay.oracle.new_code.judge import NewCode
from selfplay.oracle.new_code.left_files import without_left_files
from selfplay.oracle.reasons import Refusal
from selfplay.oracle.rewriting.rename_secrets import renewed
from selfplay.oracle.safely import safely
from selfplay.oracle.screening.screen import Submission, nothing_left, refused_inside, submission
from selfplay.oracle.task import Oracle, Task
from selfplay.oracle.trial import OF_BUG, Trial, TrialOrder, patiently, run_trial
from selfplay.sandbox import Backend, Limits
from selfplay.workbench.files import TestFile


@dataclass(frozen=True)
class Grader:
    """Grades predictions for one bug, using what its `calibration` says about the bug's suite.

    `counterfactual`: take a second look at predictions that pass, with behaviour probes and impossible tests (one more
    run each). Raises `ValueError` if the calibration was made without it. `weak`: how weak grades are treated.
    """

    task: Task
    oracle: Oracle
    limits: Limits
    calibration: Calibration
    counterfactual: bool = True
    weak: Weak = "count"

    def __post_init__(self) -> None:
        if self.counterfactual and self.calibration.impossible is None:
            raise ValueError("this calibration has no impossible tests: calibrate(..., counterfactual=True)")

    def grade(self, backend: Backend, prediction: bytes | str) -> Grade:
        """Grade a prediction. Failures in its run become the reason of its grade, not an error.

        Raises `SandboxError` when no sandbox is available, `GradingLost` when it is lost. At most one sandbox is live
        at a time."""
        known = replace(self, calibration=renewed(self.calibration))
        with with_prediction():
            return settled(safely(lambda: known._grade(backend, prediction), calibrated=True), self.weak)

    def _grade(self, backend: Backend, prediction: bytes | str) -> Grade:
        screened = _screened(self.task, prediction)
        if isinstance(screened, Grade):
            return screened
        refused = refused_inside(backend, self.task, screened, self.limits)
        if refused:
            return _refused(refused, screened)
        screened = without_left_files(backend, self.task, screened, self.limits)
        if not screened.sections:
            return _empty(screened)
        before = (_FORM, layers.passed("paths", "no applied change affects how tests run"))
        return replace(self._run(backend, screened.diff, before), notes=screened.notes, left_out=screened.left_out)

    def grade_untouched(self, backend: Backend) -> Grade:
        """Grade the world as the solver gets it, without changes, like any prediction: a sound bug is not resolved.

        Raises what `grade` raises."""
        return self._run(backend, "", ())

    def _run(self, backend: Backend, diff: str, before: tuple[Layer, ...]) -> Grade:
        known, oracle = self.calibration, self.oracle
        diffs = (*self.task.diffs, diff) if diff else self.task.diffs
        order = replace(self._order(diffs, known.made.files, known.compiled), runner=True)
        trial = self._trial(backend, order)
        spent = Grade(False, "", "", before, runs=int(trial.failed_at != "apply"), seconds=trial.seconds)
        if stopped := self._stopped(trial):
            return replace(spent, reason=stopped.name, detail=stopped.reason, layers=(*before, stopped))
        broken = _broken(trial)
        if broken:
            caught = layers.caught("run", broken.sentence)
            return replace(spent, reason=broken.reason, detail=broken.sentence, layers=(*before, caught))
        said = tuple(judge(trial, known, oracle) for judge in layers.OF_A_RUN)
        spent = replace(spent, layers=(*before, layers.passed("run", f"ended within {self._limit:.0f} s"), *said))
        return self._judged(backend, spent, trial, diff)

    def _judged(self, backend: Backend, grade: Grade, trial: Trial, diff: str) -> Grade:
        """Judge the outcomes, and run the layers that need them."""
        oracle, known = self.oracle, self.calibration
        missing = tuple(sorted(oracle.wanted - trial.outcomes.keys()))
        failing = tuple(sorted(oracle.wanted & trial.outcomes.keys() - trial.passed))
        grade = replace(grade, missing=missing, failing=failing)
        if stopped := stopped_by(grade):
            return stopped
        if failing or missing:
            gone = f"{count(len(failing), 'fails', 'fail')} and {count(len(missing), 'is', 'are')} missing"
            detail = f"of the deciding tests {gone}, first {(*failing, *missing)[0]!r}"
            return replace(grade, reason="failing-tests" if failing else "missing-tests", detail=detail)
        grade = replace(grade, layers=(*grade.layers, layers.names(trial, known, oracle)))
        if stopped := stopped_by(grade):
            return stopped
        done = list(trial.events)
        for second_look in (self._behaviour, self._counterfactual):
            layer, again = second_look(backend, diff)
            grade = with_layer(grade, self._stopped(again) or layer, again.seconds)
            done += again.events
            if stopped := stopped_by(grade):
                return stopped
        order = self._order((*self.task.diffs, diff))
        code = NewCode(backend, self.task, known, order, self.limits, oracle.wanted, tuple(done))
        for layer, seconds in code.judged(diff, self.counterfactual):
            grade = with_layer(grade, layer, seconds)
        if stopped := stopped_by(grade):
            return stopped
        return replace(grade, resolved=True, reason="resolved", detail=_sentence(oracle))

    def _behaviour(self, backend: Backend, diff: str) -> tuple[Layer, Trial]:
        """Whether it behaves like the original on other inputs."""
        known = self.calibration.behaviour
        if not self.counterfactual or known is None:
            return Layer("behaviour", "skipped", "was not requested"), Trial()
        return look(backend, self.task, self._order((*self.task.diffs, diff)), known, self.limits)

    def _counterfactual(self, backend: Backend, diff: str) -> tuple[Layer, Trial]:
        """Run again with impossible tests, or if there are none with the bug planted again: the F2P tests must fail."""
        name: Final = "counterfactual"
        never, bug = self.calibration.impossible, self.task.artifact.bug_inject
        if not self.counterfactual or never is None:
            return Layer(name, "skipped", "was not requested"), Trial()
        impossible = never.tests & self.oracle.fail_to_pass
        diffs = (*self.task.diffs, diff)
        if impossible:  # set up like the first run, so that code cannot distinguish them
            beside, compiled = self._beside()
            order = self._order(diffs, {**never.files, **beside}, {**never.compiled, **compiled})
            trial = self._trial(backend, replace(order, shuffled=True))
            if broken := _broken(trial):  # the original gave outcomes here, so a run without any is suspicious
                return layers.caught(name, f"without any result: {broken.sentence}", 1), trial
            still = sorted(trial.passed & never.tests)
            if still:
                return layers.caught(name, f"{still[0]!r} passes even when it is made impossible", 1), trial
            return layers.passed(name, f"{len(impossible)} F2P tests fail when made impossible", 1), trial
        trial = self._trial(backend, TrialOrder(diffs, self._limit, optional=bug))
        if not trial.planted:
            return layers.unavailable(name, "the bug cannot be planted back into this prediction"), trial
        if trial.timed_out or self.oracle.fail_to_pass <= trial.passed:
            what = "the tests do not end" if trial.timed_out else "every F2P test passes"
            return layers.caught(name, f"{what} with the bug planted back", 1), trial
        return layers.passed(name, "F2P tests fail with the bug planted back", 1), trial

    def _beside(self) -> tuple[dict[str, TestFile], dict[str, bytes]]:
        """The empty Python files that the first run has beside its tests, so that both runs contain the same files."""
        known = self.calibration
        files = {path: file for path, file in known.made.files.items()
                 if path.endswith(".py") and path not in self.task.artifact.test_files}  # fmt: skip
        stems = tuple(f"/{PurePosixPath(path).stem}." for path in files)
        return files, {path: data for path, data in known.compiled.items() if any(stem in path for stem in stems)}

    def _stopped(self, trial: Trial) -> Layer | None:
        """The layer that reports that the hook ended this run."""
        said = layers.events(trial, self.calibration, self.oracle)
        return said if said.state == "caught" else None

    def _order(
        self, diffs: tuple[str, ...], files: Mapping[str, TestFile] = {}, compiled: Mapping[str, bytes] = {}
    ) -> TrialOrder:
        """The order that every run of a prediction follows, with these test files."""
        known = self.calibration
        witnessed, ends = bool(known.witnessed), layers.ends(known)
        return TrialOrder(diffs, self._limit, files=files, compiled=compiled, witness=witnessed, ends=ends)

    @property
    def _limit(self) -> float:
        """Time limit of the script, in seconds."""
        return min(self.oracle.seconds, 10 * self.calibration.seconds + 10)

    def _trial(self, backend: Backend, order: TrialOrder) -> Trial:
        return patiently(
            lambda asked: run_trial(backend, self.task.world, self.task.artifact, asked, self.limits),
            order, self.oracle.seconds,
        )  # fmt: skip


def grade_without_running(task: Task, prediction: bytes | str) -> Grade | None:
    """The grade of a prediction that can be refused without a run: it is empty, not a diff, or affects how tests run.

    None for any other prediction. Needs neither a calibration nor a sandbox, and gives the same grade as
    `Grader.grade`."""
    said = safely(lambda: _screened(task, prediction), calibrated=True)
    return said if isinstance(said, Grade) else None


_FORM = layers.passed("patch", "a git diff")
_FAILED_AT = {"apply": "does-not-apply", "script": "no-results", "parser": "no-results"}


def unread(error: PredictionError) -> Grade:
    """The grade of a prediction that cannot be read."""
    return Grade(False, error.reason, error.message, (layers.caught("patch", error.message),))


def _screened(task: Task, prediction: bytes | str) -> Submission | Grade:
    try:
        found = submission(task, prediction)
    except PredictionError as error:
        return unread(error)
    if found.refused:
        return _refused(found.refused, found)
    return found if found.sections else _empty(found)


def _empty(found: Submission) -> Grade:
    return _refused(Refusal("empty", nothing_left(found)), found)


def _refused(refused: Refusal, found: Submission) -> Grade:
    said = (_FORM, layers.caught("paths", refused.sentence))
    return Grade(False, *refused, said, notes=found.notes, left_out=found.left_out)


def _broken(trial: Trial) -> Refusal | None:
    """Why a run gave no outcomes; None for a run that did. Raises `OracleError` where the bug's own diffs do not apply:
    that says nothing about a prediction."""
    if trial.failed_at == "apply" and trial.error.startswith(OF_BUG):
        raise OracleError(f"the bug cannot be graded: {trial.error}", "Run `selfplay validate` on it.")
    if trial.timed_out:
        return Refusal("timeout", f"the tests did not end within {trial.seconds:.0f} s")
    return Refusal(_FAILED_AT[trial.failed_at], trial.error) if trial.failed_at else None


def _sentence(oracle: Oracle) -> str:
    return f"all {len(oracle.fail_to_pass)} F2P and {len(oracle.pass_to_pass)} P2P tests pass"
