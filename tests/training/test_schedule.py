"""Which episodes belong to a step."""

from hypothesis import given
from hypothesis import strategies as st

from selfplay.training.config import Injecting, Solving
from selfplay.training.schedule import attempted, first_injection, injections, next_attempts


def test_groups_begin_at_multiples_of_their_size() -> None:
    """Seven stored episodes, 0 to 6, and groups of 4: number 7 would be in the group of 4 to 6, so 8 is the first."""
    assert first_injection(range(7), 4) == 8
    assert first_injection([], 4) == 0 and first_injection(range(8), 4) == 8


@given(st.integers(0, 50), st.integers(0, 40), st.integers(0, 5), st.integers(2, 8))
def test_steps_share_no_episode_and_leave_none_out(stored: int, step: int, groups: int, members: int) -> None:
    how, first = Injecting(groups=groups, members=members), first_injection(range(stored), members)
    here, following = injections(step, first, how), injections(step + 1, first, how)
    assert len(here) == groups * members and here.stop == following.start
    assert all(number >= stored for number in here)
    assert len({number // members for number in here}) == groups


def test_every_new_bug_is_attempted_and_old_ones_fill_up() -> None:
    how = Solving(bugs=3, attempts=4)
    assert attempted(["n1", "n2", "n3", "n4"], ["o"], how, 0, 0) == ["n1", "n2", "n3", "n4"]
    found = attempted(["n"], ["c", "a", "b"], how, 0, 5)
    assert found[0] == "n" and len(set(found)) == 3
    assert found == attempted(["n"], ["b", "c", "a"], how, 0, 5), "whatever the order in which they were read"
    assert attempted([], ["a"], how, 0, 0) == ["a"] and attempted([], [], how, 0, 0) == []


def test_over_many_steps_every_old_bug_has_its_turn() -> None:
    old, how = [f"b{number}" for number in range(8)], Solving(bugs=2, attempts=4)
    seen = {bug for step in range(30) for bug in attempted([], old, how, 3, step)}
    assert seen == set(old)


def test_numbers_of_attempts_go_on() -> None:
    assert list(next_attempts([], 3)) == [0, 1, 2] and list(next_attempts([0, 1, 5], 2)) == [6, 7]
