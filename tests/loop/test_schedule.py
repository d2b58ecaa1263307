"""Which episodes belong to a step."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from selfplay.loop.config import InjectorConfig
from selfplay.loop.schedule import (
    drawn,
    first_injection,
    groups_of,
    in_vain,
    injections,
    next_attempts,
    shuffled_bugs,
)


def test_groups_begin_at_multiples_of_their_size() -> None:
    """Seven stored episodes, 0 to 6, and groups of 4: number 7 would be in the group of 4 to 6, so 8 is the first."""
    assert first_injection(range(7), 4) == 8
    assert first_injection([], 4) == 0 and first_injection(range(8), 4) == 8


@given(st.integers(0, 50), st.lists(st.lists(st.sampled_from("ab"), max_size=5), max_size=8), st.integers(2, 8))
def test_steps_share_no_episode_and_leave_none_out(stored: int, steps: list[list[str]], members: int) -> None:
    """Whatever was drawn: in each repository the numbers go on without a gap, in groups of `members`."""
    how, first = InjectorConfig(members=members), {"a": first_injection(range(stored), members), "b": 0}
    planned = list[tuple[str, int]]()
    for names in steps:
        here = injections(names, first, planned, how)
        groups = [here[at : at + members] for at in range(0, len(here), members)]
        assert [{name for name, _ in group} for group in groups] == [{name} for name in names]
        assert all(len({number // members for _, number in group}) == 1 for group in groups)
        planned += here
    for name in "ab":
        numbers = [number for own, number in planned if own == name]
        assert numbers == list(range(first[name], first[name] + len(numbers)))


def test_repositories_are_drawn_by_weight_and_the_same_again() -> None:
    """Of 3000 groups a third goes to a weight of 1 beside one of 2: 1000, with a standard deviation of 26."""
    found = Counter(name for step in range(1000) for name in drawn({"a": 1.0, "b": 2.0}, 3, 7, step))
    assert 870 < found["a"] < 1130
    assert drawn({"a": 1.0, "b": 2.0}, 5, 7, 3) == drawn({"a": 1.0, "b": 2.0}, 5, 7, 3)
    assert drawn({"a": 1.0}, 2, 0, 0) == ["a", "a"]


def test_groups_in_vain_are_the_last_ones_without_a_bug() -> None:
    """Four groups of two in `a`, of which the second gave a bug by its episode 3: two in vain since then."""
    planned = [(name, number) for number in range(8) for name in "ab"]
    groups = groups_of("a", planned, {("a", 3), ("b", 7)}, 2)
    assert groups == [False, True, False, False] and in_vain(groups) == 2
    assert in_vain(groups_of("b", planned, {("a", 3), ("b", 7)}, 2)) == 0 and in_vain([]) == 0


def test_the_lot_of_a_step_is_the_same_whatever_the_order_in_which_bugs_were_read() -> None:
    found = shuffled_bugs(["c", "a", "b"], 0, 5)
    assert (
        found == shuffled_bugs(["b", "c", "a"], 0, 5)
        and sorted(found) == ["a", "b", "c"]
        and shuffled_bugs([], 0, 0) == []
    )


def test_over_many_steps_every_old_bug_has_its_turn() -> None:
    """Two of eight a step: one that is not drawn in 30 of them is there with 8 * 0.75 ** 30 = 0.0014."""
    old = [f"b{number}" for number in range(8)]
    assert {bug for step in range(30) for bug in shuffled_bugs(old, 3, step)[:2]} == set(old)


def test_numbers_of_attempts_go_on() -> None:
    assert list(next_attempts([], 3)) == [0, 1, 2] and list(next_attempts([0, 1, 5], 2)) == [6, 7]
