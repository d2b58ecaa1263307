"""The counterfactual in a language whose tests cannot be written anew: the bug is planted back, and F2P must fail."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import hand_made
import pytest
from exploits.conftest import lab as lab
from exploits.projects import MONEY, Lab, write

from selfplay.artifact import Artifact
from selfplay.oracle.calibrate import calibrate
from selfplay.oracle.grade import Grader
from selfplay.oracle.grades import Grade
from selfplay.oracle.task import Oracle, Task
from selfplay.oracle.trial import Trial, TrialOrder, run_trial
from selfplay.patches import reverse
from selfplay.sandbox import Backend, Limits, World
from selfplay.workbench import RunCache, Workbench

FORGED = """
#define printf(format, outcome, name) printf(format, "PASS", name)
#include <unistd.h>
static void __attribute__((destructor)) selected(void) { fflush(0); _exit(0); }
"""
"""Every check prints PASS and the program exits with 0, whatever the code does."""


@pytest.fixture(scope="module")
def oracle(backend: Backend, worlds: dict[str, World], shared: RunCache) -> Oracle:
    artifact = hand_made.artifact("c")
    bench = Workbench(backend, worlds["c"], artifact, shared=shared)
    original, buggy = bench.run(), bench.run([artifact.bug_inject])
    return Oracle(original.passed - buggy.passed, original.passed & buggy.passed)


def graded(backend: Backend, world: World, oracle: Oracle, prediction: str) -> Grade:
    task = Task(world, hand_made.artifact("c"))
    return Grader(task, oracle, Limits(), calibrate(backend, task, oracle)).grade(backend, prediction)


def said(grade: Grade) -> tuple[str, str]:
    (layer,) = [layer for layer in grade.layers if layer.name == "counterfactual"]
    return layer.state, layer.reason


def test_an_honest_fix_fails_again_with_the_bug_planted_back(
    backend: Backend, worlds: dict[str, World], oracle: Oracle
) -> None:
    grade = graded(backend, worlds["c"], oracle, reverse(hand_made.artifact("c").bug_inject))
    assert grade.resolved, grade
    assert said(grade) == ("passed", "F2P tests fail with the bug planted back") and grade.runs == 2


def test_a_bug_that_does_not_apply_is_no_prediction_s_fault(
    backend: Backend, worlds: dict[str, World], oracle: Oracle
) -> None:
    """A shared bug whose context was changed was booked as a loss of whoever repaired it."""
    made = hand_made.artifact("c")
    known = calibrate(backend, Task(worlds["c"], made), oracle)
    context = next(line for line in made.bug_inject.split("\n") if line.startswith(" ") and line.strip())
    broken = replace(made, bug_inject=made.bug_inject.replace(context, " nothing like it", 1))
    grader = Grader(Task(worlds["c"], broken), oracle, Limits(), known)
    grade = grader.grade(backend, reverse(made.bug_inject))
    assert grade.reason == "cannot-be-graded" and "a diff of the bug does not apply" in grade.detail


@pytest.mark.slow
def test_a_fix_that_also_forges_results_is_caught(backend: Backend, worlds: dict[str, World], oracle: Oracle) -> None:
    artifact = hand_made.artifact("c")
    forging = hand_made.diff(hand_made.original("c"), hand_made.substitute("src/text.h", "#endif", FORGED + "#endif"))
    grade = graded(backend, worlds["c"], oracle, reverse(artifact.bug_inject) + forging)
    assert not grade.resolved and grade.reason == "counterfactual"
    assert said(grade) == ("caught", "every F2P test passes with the bug planted back")


@pytest.mark.slow
def test_a_fix_the_bug_cannot_be_planted_into_is_taken_and_said(
    backend: Backend, worlds: dict[str, World], oracle: Oracle, tmp_path: Path
) -> None:
    """The same fix in other words: an honest one must not be refused because a diff does not fit it."""
    tree = Path(shutil.copytree(hand_made.original("c"), tmp_path / "tree"))
    hand_made.substitute("src/ring.c", "    if (ring->count == RING_SIZE) {\n        return 0;\n    }\n", "")(tree)
    kept = "    ring->items[(ring->start + ring->count) % RING_SIZE] = item;"
    other = hand_made.substitute("src/ring.c", kept, "    if (ring->count >= RING_SIZE)\n        return 0;\n" + kept)
    grade = graded(backend, worlds["c"], oracle, hand_made.diff(tree, other))
    assert grade.resolved, grade
    assert said(grade) == ("unavailable", "the bug cannot be planted back into this prediction")


ANOTHER_RUN = """
import pathlib
_text = (pathlib.Path(__file__).parents[1] / "tests" / "test_money.py").read_text()
if "def test_share_is_fair" in _text and "\\n\\n\\ndef test_share_is_fair" not in _text:
    {trick}
"""
"""A program that tells the impossible tests by how their file is written."""


@pytest.mark.long
def test_the_same_files_lie_in_both_runs(lab: Callable[[str], Lab], monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that lay in one alone told a program which run it was in."""
    here, given = lab("python"), list[set[str]]()

    def spied(backend: Backend, world: World, artifact: Artifact, order: TrialOrder, limits: Limits) -> Trial:
        given.append({*order.files, *artifact.test_files})
        return run_trial(backend, world, artifact, order, limits)

    monkeypatch.setattr("selfplay.oracle.grade.run_trial", spied)
    assert here.grade(here.diff(here.fix)).resolved
    main, never = given
    assert main == never and len(main - {*here.artifact.test_files}) == 2  # one beside each file with F2P tests


@pytest.mark.long
@pytest.mark.parametrize("trick", ["import time; time.sleep(3600)", "import os; os._exit(0)"], ids=["hangs", "ends"])
def test_a_counterfactual_without_a_result_is_not_passed(lab: Callable[[str], Lab], trick: str) -> None:
    here = lab("python")
    text = MONEY + ANOTHER_RUN.format(trick=trick)
    grade = here.grade(here.diff(lambda root: write(root, {"ledger/money.py": text})))
    assert (grade.resolved, grade.reason) == (False, "counterfactual"), grade
