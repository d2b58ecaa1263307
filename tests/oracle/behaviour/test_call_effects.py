"""What a call does besides answering: each pair of functions answers the same and does something else."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest
from oracle.behaviour.twin_functions import LETTERS, PAIRS, one_for_all, plus, sums

from selfplay.oracle import inside
from selfplay.oracle.behaviour.call_effects import HELPER


def shown(function: Callable[..., Any], *values: Any, ways: tuple[int, ...] = ()) -> str:
    """What the helper shows of a call, as it is recorded."""
    seen, space = list[str](), dict[str, Any]()
    space["selfplay_saw"] = lambda value: seen.append(str(space["selfplay_plain"](value, 5)))
    exec(inside.text("selfplay_plain.py") + HELPER, space)

    def make() -> Any:
        return space["given"](*(eval(repr(one)) if type(one) in (list, dict) else one for one in values))

    with contextlib.suppress(KeyError, RecursionError):
        space["effects"](function, make, *ways)
    return "\n".join(seen)


@pytest.mark.parametrize(("right", "wrong", "values", "ways"), PAIRS)
def test_two_functions_with_one_answer_differ_in_what_they_do(
    right: Callable[..., Any], wrong: Callable[..., Any], values: tuple[Any, ...], ways: tuple[int, ...]
) -> None:
    assert shown(right, *values, ways=ways) == shown(right, *values, ways=ways)
    assert shown(right, *values, ways=ways) != shown(wrong, *values, ways=ways)


def test_what_is_put_into_a_result_is_taken_out_again() -> None:
    shown(one_for_all, 1)
    assert list("ab") == LETTERS


def test_what_is_taken_out_again_is_what_was_put_in_not_what_is_equal_to_it() -> None:
    class Any(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            return True

    kept = [Any("a"), "b"]
    shown(lambda one: kept, 1)
    assert [str(one) for one in kept] == ["a", "b"]


def test_an_error_is_raised_once_all_is_shown_but_not_one_that_was_asked_for() -> None:
    with pytest.raises(ZeroDivisionError):
        shown(lambda one: 1 // one, 0)
    assert "Failed" in shown(sums, plus, [1], ways=(-1, 0, 1))
