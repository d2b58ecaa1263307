"""What a threshold may be, and thresholds of another version."""

import pytest

from selfplay.validators import Thresholds


def test_thresholds_of_another_version_are_read():
    assert Thresholds.from_json({"min_passing_tests": 3, "of_a_later_version": 1}) == Thresholds(min_passing_tests=3)
    assert Thresholds.from_json(Thresholds(seconds=7).to_json()) == Thresholds(seconds=7)


@pytest.mark.parametrize(
    "wrong", [{"repeats": 0}, {"seconds": 0}, {"max_lost_share": 1.5}, {"min_changed_files": 3, "max_changed_files": 2}]
)
def test_thresholds_that_nothing_can_meet_are_refused(wrong):
    with pytest.raises(ValueError):
        Thresholds(**wrong)
