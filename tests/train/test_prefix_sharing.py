"""Which sequences stand around one prompt: plain numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.train.errors import TrainError
from selfplay.train.packing import Example
from selfplay.train.prefix_sharing import LEAST, Layout, prefix_groups

PROMPT = list(range(100, 100 + LEAST + 4))


def attempt(name: str, prompt: list[int], answer: int) -> Example:
    return Example(name, prompt + [7] * answer, [0] * len(prompt) + [1] * answer)


def test_attempts_at_one_prompt_share_all_of_it_but_its_last_token() -> None:
    """20 tokens of prompt, 19 of them shared: the hidden state at the last one differs in nothing, but each sequence
    keeps it, since the first answered token is predicted from it."""
    some = [attempt("a", PROMPT, 3), attempt("b", PROMPT, 5), attempt("other", [1, *PROMPT[1:]], 2)]
    one, other = prefix_groups(some, budget=100)
    assert (one.examples, one.layout) == ((some[0], some[1]), Layout(19, (4, 6)))
    assert (other.examples, other.layout, other.layout.tokens) == ((some[2],), Layout(0, (22,)), 22)


def test_a_prompt_of_a_few_tokens_is_not_shared() -> None:
    some = [attempt(str(number), PROMPT[:LEAST], 3) for number in range(2)]  # LEAST - 1 of them could be
    assert [group.shared for group in prefix_groups(some, budget=100)] == [0, 0]


def test_what_differs_before_the_first_trained_token_is_not_shared() -> None:
    """Attempts that take turns diverge in their answers; a prompt with a trained token in it has a gradient of its
    own."""
    inner = Example("inner", [*PROMPT, 7], [0] * 4 + [1] * (len(PROMPT) - 3))
    assert [group.shared for group in prefix_groups([attempt("a", PROMPT, 1), inner], budget=100)] == [0, 0]


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 30)), min_size=1, max_size=30), st.integers(60, 120))
def test_every_sequence_is_in_one_group_within_the_budget(made: list[tuple[int, int]], budget: int) -> None:
    examples = [attempt(str(n), [kind, *PROMPT][: 21 - 8 * kind], answer) for n, (kind, answer) in enumerate(made)]
    groups = prefix_groups(examples, budget)
    assert sorted((e.name for group in groups for e in group.examples), key=int) == [e.name for e in examples]
    for group in groups:
        assert group.layout.tokens <= budget and (group.shared == 0) == (len(group.examples) == 1)
        assert len({tuple(e.ids[: group.shared]) for e in group.examples}) == 1
        assert not any(bit for e in group.examples for bit in e.mask[: group.shared + 1])
    apart, together = sum(len(e.ids) for e in examples), sum(group.layout.tokens for group in groups)
    assert together <= apart


def test_a_sequence_longer_than_the_budget_is_refused() -> None:
    with pytest.raises(TrainError, match="does not fit into a row"):
        prefix_groups([attempt(str(number), PROMPT, 30) for number in range(2)], budget=40)
