"""Packing is plain numbers: which sequences share a row, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.train.errors import TrainError
from selfplay.train.packing import Example, fitting, pack


def example(name: str, length: int, trained: int = 1) -> Example:
    mask = [0] * (length - trained) + [1] * trained
    return Example(name, list(range(length)), mask, {"advantages": [0.5] * length})


def test_longest_first_each_into_the_first_row_with_room() -> None:
    """7 opens a row; 6 does not fit beside it and opens the next; 4 joins 6, 3 joins 7, both rows are full."""
    assert pack([3, 6, 7, 4], budget=10) == [[2, 0], [1, 3]]


@given(st.lists(st.integers(1, 50), max_size=60), st.integers(50, 120))
def test_every_sequence_is_in_one_row_within_the_budget(lengths: list[int], budget: int) -> None:
    rows = pack(lengths, budget)
    assert sorted(index for row in rows for index in row) == list(range(len(lengths)))
    assert all(0 < sum(lengths[index] for index in row) <= budget for row in rows)
    half_empty = [row for row in rows if 2 * sum(lengths[index] for index in row) <= budget]
    assert len(half_empty) <= 1  # what is in the second one would have fitted into the first


def test_a_sequence_longer_than_the_budget_is_refused_by_name() -> None:
    with pytest.raises(TrainError, match=r"attempt-3 has 12 tokens, the budget of a row is 10"):
        fitting([example("attempt-3", 12)], budget=10)
    with pytest.raises(TrainError, match="12 tokens does not fit"):
        pack([4, 12], budget=10)


def test_or_cut_to_its_first_tokens_or_left_out() -> None:
    long = example("long", 12, trained=5)  # tokens 7 to 11
    (cut,) = fitting([long], 10, "cut")
    assert (len(cut.ids), cut.trained, len(cut.numbers["advantages"])) == (10, 3, 10)
    assert fitting([long, example("short", 4)], 10, "leave-out") == [example("short", 4)]
    assert fitting([example("prompt only", 12, trained=2)], 10, "cut") == []  # nothing to learn is left


def test_tokens_after_the_last_trained_one_are_not_read() -> None:
    """Nothing depends on them: attention looks back. Their numbers go with them."""
    seen = Example("one", [5, 6, 7, 8, 9], [0, 1, 0, 1, 0], {"advantages": [0.0, 1.0, 0.0, 2.0, 0.0]}).read
    assert (seen.ids, seen.mask, seen.numbers["advantages"]) == ([5, 6, 7, 8], [0, 1, 0, 1], [0.0, 1.0, 0.0, 2.0])
    assert example("whole", 4).read == example("whole", 4)
    assert example("nothing", 4, trained=0).read.ids == [0]


def test_an_example_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(TrainError, match="3 ids and 2 values of mask"):
        Example("one", [1, 2, 3], [0, 1])
    with pytest.raises(TrainError, match="3 ids and 1 value of sampled"):
        Example("one", [1, 2, 3], [0, 1, 1], {"sampled": [0.0]})
    with pytest.raises(TrainError, match="it has no context"):
        Example("one", [1, 2], [1, 1])
    with pytest.raises(TrainError, match="needs ids of at least 0"):
        Example("one", [1, -100], [0, 1])
