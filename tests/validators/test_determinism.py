"""Ids that vary are left out of both sets; the rest of the artifact stands or falls without them."""

from dataclasses import replace

import hand_made
import pytest

from selfplay.validators import Thresholds, validate

# hundredths of a second since boot: no two runs of one test session share one
NOW = "read up _ </proc/uptime; now=${up/./}; "


@pytest.mark.slow
def test_ids_that_hold_a_time_are_flaky_and_harmless(bench):
    """Such an id is gone under the bug, so it looks broken until the runs are compared."""
    valid = hand_made.artifact("c")
    artifact = replace(valid, test_script=NOW + 'echo "PASS: at $now"\n' + valid.test_script)
    result = validate(artifact, bench("c", artifact), Thresholds())
    assert result.valid, result.reason
    assert set(result.fail_to_pass) == {"ring: full", "ring: first in, first out", "ring: wraps around"}
    assert all(test.startswith("at ") for test in result.flaky)
    assert len(result.flaky) == 8  # one id in each of four runs of two trees: two, and two more as some varied
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
def test_a_test_that_flickers_on_the_original_only(bench):
    """It passed first, and fails in the repeat: it is in neither set."""
    valid = hand_made.artifact("c")
    flicker = "[ -e /tmp/never ] || echo PASS: steady\n" + NOW
    flicker += "for i in $(seq 0 999); do [ $i = $((now % 1000)) ] || echo PASS: not $i; done\n"
    artifact = replace(valid, test_script=flicker + valid.test_script)
    result = validate(artifact, bench("c", artifact), Thresholds())
    assert result.valid, result.reason
    # each of four runs of two trees leaves out one id of a thousand, and no two the same
    assert len(result.flaky) == 8
    assert len(result.pass_to_pass) == 9 - 3 + 1 + 1000 - 8


@pytest.mark.slow
def test_a_test_that_fails_at_times_on_the_original(bench):
    """It fails in the first run of the original, or in the repeat: a test that measures time does so on a busy
    machine."""
    valid = hand_made.artifact("c")
    some = (
        NOW + "for i in $(seq 0 999); do [ $i = $((now % 1000)) ] && echo FAIL: timed $i || echo PASS: timed $i; done\n"
    )
    artifact = replace(valid, test_script=some + valid.test_script)
    result = validate(artifact, bench("c", artifact), Thresholds())
    assert result.valid, result.reason
    assert "1 fails at times ('timed " in result.verdicts[2].reason
    assert len(result.flaky) == 8  # another one fails in each of four runs of two trees
    assert len(result.pass_to_pass) == 9 - 3 + 1000 - 8


@pytest.mark.slow
def test_a_test_that_always_fails_on_the_original(bench):
    valid = hand_made.artifact("c")
    artifact = replace(valid, test_script="echo FAIL: never\n" + valid.test_script)
    result = validate(artifact, bench("c", artifact), Thresholds())
    assert result.reason == "test_script: 1 test of the original fails: 'never'"
