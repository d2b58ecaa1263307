"""Ids that vary are left out of both sets; the rest of the artifact stands or falls without them."""

from collections.abc import Collection, Iterable
from copy import copy
from dataclasses import replace
from random import Random
from statistics import mean
from time import CLOCK_BOOTTIME, clock_gettime
from types import SimpleNamespace

import hand_made
import pytest

from selfplay.validators import CHECKS, Thresholds, determinism, validate, weakening
from selfplay.validators.common import odd_runs
from selfplay.validators.determinism import LIKELY, OUTCOME_CHECKS, chance_of_another, flaky_tests
from selfplay.workbench import TestRun

WEAKENING = hand_made.diff(hand_made.original("python"), lambda root: (root / "weakened.py").write_text("\n"))
# hundredths of a second since boot: no two runs of one test session share one
NOW = "read up _ </proc/uptime; now=${up/./}; "


def ran(*passed: str) -> TestRun:
    return TestRun(dict.fromkeys(passed, "passed"))


class Drawn:
    """A workbench whose tests pass at times, as drawn; a run is the same when it is asked for again."""

    artifact = SimpleNamespace(bug_inject="bug", test_weaken=None)

    def __init__(self, seed: int, tests: int, passing: float) -> None:
        self.random, self.passing = Random(seed), passing
        self.tests = [f"{'weakened' if number % 3 == 0 else 'other'}.py::{number}" for number in range(tests)]
        self.runs: dict[object, TestRun] = {}
        self.steady: dict[tuple[str, ...], dict[str, str]] = {}

    def run(self, diffs: Iterable[str] = (), repeat: int = 0, time_limit: float = 0) -> TestRun:
        key = (tuple(diffs), repeat)
        if key not in self.runs:
            drawn = ran(*(test for test in self.tests if self.random.random() < self.passing))
            self.runs[key] = TestRun({**drawn.outcomes, **self.steady.get(key[0], {})})
        return self.runs[key]

    def of_files(self, files: Collection[str]) -> "Drawn | None":
        return None


class Parted(Drawn):
    """One whose script is ours, and of which a third of the tests are in the file that is weakened."""

    artifact = SimpleNamespace(bug_inject="bug", test_weaken=WEAKENING, diffs=("bug", WEAKENING))

    def of_files(self, files: Collection[str]) -> Drawn:
        part = copy(self)
        part.runs, part.tests = {}, [test for test in self.tests if test.partition("::")[0] in files]
        return part


@pytest.mark.slow
def test_ids_that_hold_a_time_are_flaky_and_harmless(bench):
    """Such an id is gone under the bug, so it looks broken until the runs are compared."""
    valid = hand_made.artifact("c")
    artifact = replace(valid, test_script=NOW + 'echo "PASS: at $now"\n' + valid.test_script)
    result = validate(artifact, bench("c", artifact), Thresholds())
    assert result.valid, result.reason
    assert set(result.fail_to_pass) == {"ring: full", "ring: first in, first out", "ring: wraps around"}
    assert all(test.startswith("at ") for test in result.flaky)
    assert len(result.flaky) == 4  # one id in each of two runs of two trees
    assert not {*result.fail_to_pass, *result.pass_to_pass} & set(result.flaky)


@pytest.mark.slow
def test_too_few_tests_without_the_flaky_ones(bench):
    """9 steady ids and one that varies reach a threshold of 10 only by chance."""
    valid = hand_made.artifact("c")
    artifact = replace(valid, test_script=NOW + 'echo "PASS: at $now"\n' + valid.test_script)
    result = validate(artifact, bench("c", artifact), Thresholds(min_passing_tests=10))
    assert result.verdicts[-1].check == "determinism"
    assert "test_script fails: only 9 tests" in result.reason


@pytest.mark.slow
def test_tests_that_flicker_are_in_neither_set(bench):
    """Five tests, each of which is there in half of the runs."""
    valid = hand_made.artifact("c")
    drawn = "drawn=$(od -An -N1 -tu1 /dev/urandom); "
    flicker = "for bit in 0 1 2 3 4; do [ $((drawn >> bit & 1)) = 1 ] || echo PASS: bit $bit; done\n"
    artifact = replace(valid, test_script=drawn + flicker + valid.test_script)
    result = validate(artifact, bench("c", artifact), Thresholds())
    assert result.valid, result.reason
    assert result.flaky
    assert set(result.flaky) <= {f"bit {bit}" for bit in range(5)}
    assert not {*result.fail_to_pass, *result.pass_to_pass} & set(result.flaky)


@pytest.mark.slow
def test_a_test_that_fails_at_times_on_the_original(bench):
    """It fails in the first run of the original, and never again: a test that measures time does so on a busy
    machine."""
    valid = hand_made.artifact("c")
    busy_until = int(100 * (clock_gettime(CLOCK_BOOTTIME) + 8))
    once = NOW + f"[ $now -gt {busy_until} ] && echo PASS: timed || {{ echo FAIL: timed; sleep 9; }}\n"
    artifact = replace(valid, test_script=once + valid.test_script)
    result = validate(artifact, bench("c", artifact), Thresholds())
    assert result.valid, result.reason
    assert "1 fails at times ('timed')" in result.verdicts[2].reason
    assert set(result.flaky) == {"timed"}


@pytest.mark.slow
def test_a_suite_in_which_each_run_finds_another_flaky_test(bench):
    """One test of a thousand fails in each run, a different one each time. What ten runs of both trees have not found
    would refuse nearly every right repair."""
    valid = hand_made.artifact("c")
    some = "for i in $(seq 0 999); do [ $i = $((now % 1000)) ] && echo FAIL: timed $i || echo PASS: timed $i; done\n"
    artifact = replace(valid, test_script=NOW + some + valid.test_script)
    result = validate(artifact, bench("c", artifact), Thresholds())
    assert "1 fails at times ('timed " in result.verdicts[2].reason
    assert "determinism: after 10 runs of each tree still others vary than 20 flaky tests" in result.reason


@pytest.mark.parametrize(("flickering", "verdict"), [(2, "hides 1 of 1 failing test"), (3, "makes 3 tests fail at")])
def test_a_weakening_that_makes_tests_flicker(flickering: int, verdict: str):
    """Some of a hundred tests fail in the first run with the weakening, and pass in the second."""
    tests = [str(test) for test in range(100)]
    artifact = hand_made.artifact("c")
    bench = Drawn(0, 0, 0)
    bench.artifact, weak = artifact, (artifact.bug_inject, artifact.weakening)
    bench.runs = {
        ((), 0): ran("bug", *tests),
        ((artifact.bug_inject,), 0): TestRun({**ran(*tests).outcomes, "bug": "failed"}),
        (weak, 0): TestRun({**ran(*tests).outcomes, **dict.fromkeys(tests[:flickering], "failed"), "bug": "passed"}),
        (weak, 1): ran("bug", *tests),
    }
    bench.runs |= {(diffs, 1): run for (diffs, repeat), run in bench.runs.items() if diffs != weak}
    assert verdict in weakening.check(artifact, bench, Thresholds()).reason


@pytest.mark.parametrize("kept", [True, False])
def test_a_weakening_is_not_blamed_for_what_is_missing_by_chance(kept: bool):
    """Five tests, each of which is there in half of the runs. Two runs alone would see one of them lost in 5 of 64
    artifacts. A steady test that the weakening removes is told from them each time."""
    artifact = hand_made.artifact("c")
    original, weak = ran("kept", "bug").outcomes, {"bug": "passed"} | ({"kept": "passed"} if kept else {})
    for seed in range(200):
        bench = Drawn(seed, 5, 0.5)
        bench.artifact = artifact
        bench.steady = {
            (): original,
            (artifact.bug_inject,): {**original, "bug": "failed"},
            (artifact.bug_inject, artifact.weakening): weak,
        }
        verdict = weakening.check(artifact, bench, Thresholds())
        assert verdict.passed == kept, verdict.reason
        assert kept or "removes 1 test that the bug does not break: 'kept'" in verdict.reason


def test_the_chance_of_another_flaky_test():
    """Six runs: `a` and `c` were odd in one of them, `b` in one of each tree, `t1` and `t2` are named once."""
    trees = [
        [ran("a", "b", "c", "t1"), ran("c", "t2"), ran("a", "b", "c")],
        [ran("a", "b", "c"), ran("a", "c"), ran("a", "b")],
    ]
    assert odd_runs(trees[0]) == {"a": 1, "b": 1, "c": 0, "t1": 1, "t2": 1}
    assert chance_of_another(trees) == 2 / 6


@pytest.mark.parametrize("drawn", [Drawn, Parted])
@pytest.mark.parametrize(("tests", "passing"), [(1, 0.9), (3, 0.7), (10, 0.7), (10, 0.9), (10, 0.98), (100, 0.999)])
def test_a_right_repair_rarely_fails_by_chance(tests: int, passing: float, drawn: type[Drawn]):
    """Suites whose tests pass at times, drawn 200 times. Where tests were seen to vary and the others were kept, a
    right repair passes them four times of five at least."""
    passes = []
    for seed in range(200):
        flaky, another = flaky_tests(drawn(seed, tests, passing), 2)
        if flaky and another <= LIKELY:
            passes.append(passing ** (tests - len(flaky)))
    assert passes
    assert mean(passes) > 0.75


@pytest.mark.slow
def test_a_test_that_always_fails_on_the_original(bench):
    valid = hand_made.artifact("c")
    artifact = replace(valid, test_script="echo FAIL: never\n" + valid.test_script)
    result = validate(artifact, bench("c", artifact), Thresholds())
    assert result.reason == "test_script: 1 test of the original fails: 'never'"


def test_each_check_is_known_as_one_of_outcomes_or_not() -> None:
    """One of outcomes that `OUTCOME_CHECKS` lacks would go on counting tests that vary."""
    of_the_text = {"test_files", "parser", "scope"}
    assert {module.NAME for module in OUTCOME_CHECKS} | of_the_text | {determinism.NAME} == set(CHECKS)
