"""The figures of a curriculum on diffs small enough to count by hand."""

import time
from collections.abc import Mapping
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from selfplay.curriculum.quality import NEAR, Lines, entropy, near_duplicates, shape, solve_rates, spread

HEAD = "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n"


def diff(path: str, removed: list[str], added: list[str], function: str = "def f():") -> str:
    lines = [f"-{line}\n" for line in removed] + [f"+{line}\n" for line in added]
    return HEAD.format(path) + f"@@ -1,{len(removed)} +1,{len(added)} @@ {function}\n" + "".join(lines)


def test_entropy_is_in_bits() -> None:
    assert entropy("aabb") == {"names": 2, "bits": 1.0, "most": 1.0}  # a fair coin
    assert entropy("aaab") == {"names": 2, "bits": 0.811, "most": 1.0}  # 2 - 3/4 log2 3
    assert entropy("aaaa") == {"names": 1, "bits": 0.0, "most": 0.0}
    assert entropy("") == {"names": 0, "bits": 0.0, "most": 0.0}


def test_the_shape_of_three_bugs() -> None:
    found = shape(
        {
            "one": diff("a.py", ["x = 1"], ["x = 2"]),
            "two": diff("a.py", ["a", "b", "c"], [], "def g():"),
            "three": diff("b.py", ["a", "b", "c"], []) + diff("c.py", ["d"], []),
        },
        lambda path: None,
    )
    assert found["changed_lines"] == {"least": 2, "median": 3, "mean": 3.0, "most": 4}
    assert found["files_per_bug"] == {"least": 1, "median": 1, "mean": 1.33, "most": 2}
    assert found["one_line_share"] == 0.3333
    assert found["near_duplicate_rate"] == 0.0  # the same lines in another file are another bug
    assert found["entropy_files"] == {"names": 3, "bits": 1.5, "most": 1.585}  # a.py twice of four: 1/2 + 2 * 1/4 * 2
    assert found["entropy_functions"]["names"] == 4


def test_a_function_is_what_the_syntax_says_not_what_git_guesses() -> None:
    source = "class C:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n"
    one = HEAD.format("c.py") + "@@ -1,6 +1,6 @@ class C:\n class C:\n     def f(self):\n-        return 1\n"
    one += "+        return 0\n \n     def g(self):\n-        return 2\n+        return 0\n"
    found = shape({"one": one}, {"c.py": source}.get)
    assert found["entropy_functions"] == {"names": 2, "bits": 1.0, "most": 1.0}  # C.f and C.g, once each


def test_no_bugs_have_no_shape() -> None:
    found = shape({}, lambda path: None)
    assert found["changed_lines"] is None and found["one_line_share"] is None and spread([]) is None


@pytest.mark.parametrize(
    ("other", "near"),
    [
        ({"a", "b", "c", "d"}, True),  # 4 of 4
        ({"a", "b", "c", "d", "e"}, True),  # 4 of 5 = 0.8
        ({"a", "b", "c", "e"}, False),  # 3 of 5
        (set(), False),
    ],
)
def test_near_duplicates_share_four_fifths_of_their_lines(other: set[str], near: bool) -> None:
    one = frozenset(("f", line) for line in "abcd")
    found = near_duplicates({"one": one, "other": frozenset(("f", line) for line in other)})
    assert found == ({"other"} if near else frozenset())


def test_solve_rates_count_what_lies_between() -> None:
    found = solve_rates({"never": (0, 8), "always": (8, 8), "sometimes": (2, 8)})
    assert found == {
        "bugs": 3, "attempts": 24, "resolved": 10, "mean_solve_rate": 0.4167,  # (0 + 1 + 1/4) / 3
        "solved_at_least_once": 2, "strictly_between": 1, "histogram": {"0": 1, "2": 1, "8": 1},
    }  # fmt: skip


def pairwise(lines: Mapping[str, Lines]) -> frozenset[str]:
    """What is meant: every pair compared."""
    return frozenset(
        later
        for (_, one), (later, other) in combinations(lines.items(), 2)
        if one & other and len(one & other) / len(one | other) >= NEAR
    )


SETS = st.lists(st.frozensets(st.tuples(st.sampled_from("fg"), st.sampled_from("abcdefgh")), max_size=12), max_size=12)


@pytest.mark.slow
@given(SETS)
def test_the_index_finds_what_comparing_every_pair_finds(sets: list[Lines]) -> None:
    lines = {str(number): own for number, own in enumerate(sets)}
    assert near_duplicates(lines) == pairwise(lines)


def many_bugs(count: int) -> dict[str, Lines]:
    """Bugs of one file: ten lines each, four of them lines that every bug changes, every tenth nearly its neighbour."""
    own = [[f"-line {number - (number % 10 == 9)} {n}" for n in range(6)] for number in range(count)]
    common = [f"+common {n}" for n in range(3)]
    return {
        f"bug{number}": frozenset(("one.py", line) for line in [*lines, *common, f"+own {number}"])
        for number, lines in enumerate(own)
    }


def seconds_for(count: int) -> float:
    lines = many_bugs(count)
    least = float("inf")
    for _ in range(3):
        started = time.process_time()
        found = near_duplicates(lines)
        least = min(least, time.process_time() - started)
    assert len(found) == count // 10  # 9 of 11 lines shared: 0.82
    return least


@pytest.mark.slow
def test_thousands_of_bugs_in_one_file_take_time_in_step_with_their_number() -> None:
    assert seconds_for(8000) / seconds_for(1000) < 20  # 8 when in step, 64 when every pair is compared
