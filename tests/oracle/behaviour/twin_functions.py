"""Pairs of functions that answer the same and do something else."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any

LETTERS: list[str] = list("ab")


def pairs(one: list[int]) -> list[tuple[int, int]]:
    return [(value, value) for value in one]


def pairs_that_empties(one: list[int]) -> list[tuple[int, int]]:
    made = [(value, value) for value in one]
    one.clear()
    return made


def copied(one: list[int]) -> list[int]:
    return [*one]


def handed_back(one: list[int]) -> list[int]:
    return one


def fresh(one: int) -> list[str]:
    return list("ab") * one


def one_for_all(one: int) -> list[str]:
    return LETTERS


@functools.cache
def kept(one: int) -> list[str]:
    return list("ab") * one


def rows(one: int) -> list[list[int]]:
    return [[0] * one for _ in range(3)]


def one_row(one: int) -> list[list[int]]:
    return [[0] * one] * 3


def doubled(rule: Callable[[int], int], items: list[int]) -> Iterator[int]:
    for one in items:
        yield rule(one)


def doubled_at_once(rule: Callable[[int], int], items: list[int]) -> Iterator[int]:
    yield from [rule(one) for one in items]


def doubled_until_it_fails(rule: Callable[[int], int], items: list[int]) -> Iterator[int]:
    with contextlib.suppress(Exception):
        yield from (2 * rule(one) for one in items)


def doubled_without_the_last(rule: Callable[[int], int], items: list[int]) -> Iterator[int]:
    held = list[int]()
    for one in items:
        made = 2 * rule(one)
        yield from held
        held = [made]
    yield from held


def sums(rule: Callable[[int], int], items: list[int]) -> int:
    return sum(rule(one) for one in items)


def sums_backwards(rule: Callable[[int], int], items: list[int]) -> int:
    return sum(rule(one) for one in reversed(items))


def moved(rule: Callable[[int], int], items: list[int]) -> list[int]:
    """Takes an item away when it has its value."""
    made = []
    while items:
        made.append(rule(items[0]))
        del items[0]
    return made


def moved_too_early(rule: Callable[[int], int], items: list[int]) -> list[int]:
    made = []
    while items:
        made.append(rule(items.pop(0)))
    return made


def first(items: list[int]) -> int:
    return next(iter(items))


def first_of_all(items: list[int]) -> int:
    return sorted(items)[0]


def inverse(one: dict[str, int]) -> dict[int, str]:
    return {one[key]: key for key in one} if hasattr(one, "keys") else {}


def inverse_of_dict(one: dict[str, int]) -> dict[int, str]:
    return {one[key]: key for key in one} if isinstance(one, dict) else {}


def called_until_true(rule: Callable[[int], int], one: int) -> int:
    return rule(one) or rule(one)


def called_once(rule: Callable[[int], int], one: int) -> int:
    return rule(one)


def named_rule(rule: Callable[[int], int], one: int) -> int:
    return rule(one) if hasattr(rule, "__name__") else 0


def default_of(one: int | None) -> int:
    return 1 if one is None else 2


def default_of_equal(one: int | None) -> int:
    return 1 if one == None else 2  # noqa: E711


def ruled(rule: Callable[[int], int] | None, one: int) -> int:
    return one if rule is None else rule(one)


def ruled_unless_equal(rule: Callable[[int], int] | None, one: int) -> int:
    return one if rule == None else rule(one)  # type: ignore[misc]  # noqa: E711


def called(rule: Callable[[int], int], items: list[int]) -> list[int]:
    made = []
    for one in items:
        made.append(rule(one))
    return made


def called_in_a_generator(rule: Callable[[int], int], items: list[int]) -> list[int]:
    return list(rule(one) for one in items)  # noqa: C400


def called_while_found(rule: Callable[[int], int], items: list[int]) -> list[int]:
    with contextlib.suppress(KeyError):
        return called(rule, items)
    return []


def last_one(items: list[int]) -> int:
    return items[len(items) - 1]


def last_by_recursion(items: list[int]) -> int:
    return items[0] if len(items) == 1 else last_by_recursion(items[1:])


def extended(target: list[int], items: list[int]) -> None:
    target.extend([*items])


def extended_one_by_one(target: list[int], items: list[int]) -> None:
    for one in items:
        target.append(one)


def found_in(one: dict[str, int], key: str) -> int:
    return one[key]


def found_in_without_a_key(one: dict[str, int], key: str) -> int:
    if key not in one:
        raise KeyError("it is not there")
    return one[key]


def plus(one: int) -> int:
    return one + 1


def tried(rule: Callable[[int], int], one: list[int]) -> int:
    made = sum(map(rule, one))
    try:
        return int(str(made))
    except ValueError:
        return 0


def tried_with_the_rule(rule: Callable[[int], int], one: list[int]) -> int:
    try:
        return int(str(sum(map(rule, one))))
    except ValueError:
        return 0


PAIRS: list[tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...], tuple[int, ...]]] = [
    (pairs, pairs_that_empties, ([1, 2],), ()),
    (copied, handed_back, ([1, 2],), ()),
    (fresh, one_for_all, (1,), ()),
    (fresh, kept, (1,), ()),
    (rows, one_row, (2,), ()),
    (doubled, doubled_at_once, (plus, [1, 2]), (1, 2)),
    (doubled, doubled_until_it_fails, (plus, [1, 2]), (-1, 0, 2)),
    (doubled, doubled_without_the_last, (plus, [1, 2]), (-1, 0, 2)),
    (sums, sums_backwards, (plus, [1, 2]), ()),
    (moved, moved_too_early, (plus, [1, 2, 3]), (-1, 0, 2)),
    (first, first_of_all, ([1, 2],), (0, 2)),
    (inverse, inverse_of_dict, ({"a": 1},), (0, 2)),
    (called_once, called_until_true, (plus, 2), (0, 2)),
    (called_once, named_rule, (plus, 2), (0, 0)),
    (ruled, ruled_unless_equal, (plus, 2), (0, 0)),
    (called, called_in_a_generator, (plus, [1, 2]), (-1, 0, 4)),
    (called, called_while_found, (plus, [1, 2]), (-1, 0, 8)),
    (last_one, last_by_recursion, ([1, 2],), (0, 6)),
    (extended, extended_one_by_one, ([], [1, 2]), (1, 5)),
    (default_of, default_of_equal, (None,), (0, 0)),
    (found_in, found_in_without_a_key, ({"a": 1}, "b"), ()),
    (tried, tried_with_the_rule, (plus, [1, 2]), (-1, 0, 10)),
]
"""(right, wrong, the values both are called with, the way they are looked at, if it is not the usual one)"""
