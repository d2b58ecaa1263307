"""What a page counts and whom it shows, on values: one figure each, so that a wrong filter is seen."""

import json
from pathlib import Path

import pytest
from report.made_runs import bug, made_run

from selfplay.curriculum import Attempt, EpisodeRecord, StoredEpisodeFigures, open_curriculum, read_pool
from selfplay.curriculum.solving import solves
from selfplay.report.html.bugs import bug_detail, solve_rate
from selfplay.report.html.building import _in_turn
from selfplay.report.html.diffs import diff_value
from selfplay.report.html.figures import reasons, solve_rates, totals
from selfplay.report.html.reading import read_contents

ATTEMPTS = [
    Attempt("a", "model", 0, True, "resolved", "", ""),
    Attempt("a", "model", 1, False, "failing-tests", "", ""),
    Attempt("a", "gold", 0, True, "resolved", "", ""),
    Attempt("b", "gold", 0, True, "resolved", "", ""),
    Attempt("b", "empty", 0, False, "empty", "", ""),
]
"""Of one policy and of both controls: bug `b` was attempted by controls alone."""


def test_the_attempts_of_controls_are_no_policys() -> None:
    assert reasons(ATTEMPTS) == {"failing-tests": 1}
    known = totals([], ATTEMPTS, 0)
    assert [known[name] for name in ("attempts", "resolved", "attempted", "solved_once")] == [2, 1, 1, 1]
    assert solve_rate(solves(ATTEMPTS)["a"]) == [1, 2] and solve_rate(solves(ATTEMPTS)["b"]) is None


def test_rates_are_told_by_policy_and_order_and_controls_are_marked() -> None:
    """`gold` attempted a bug of each order; the bug `c` is not shown, and neither is its attempt."""
    found = solve_rates([*ATTEMPTS, Attempt("c", "model", 0, True, "resolved", "", "")], {"a": 1, "b": 2})
    rows = [(row["policy"], row["order"], row["control"], row["resolved"], row["attempts"]) for row in found]
    assert rows == [
        ("empty", 2, True, 0, 1),
        ("gold", 1, True, 1, 1),
        ("gold", 2, True, 1, 1),
        ("model", 1, False, 1, 2),
    ]


def test_a_test_that_the_solver_was_not_shown_is_marked(tmp_path: Path) -> None:
    run, shown = made_run(tmp_path / "run", 1), bug(0).fail_to_pass[0]
    with read_pool(run) as pool:
        (known,) = (one for one in read_contents(pool).bugs.values() if one.order == 1)
        assert bug_detail(pool, known, [])["failing"] == [[shown, False]]
    file = run / "bugs" / known.id / "bug.json"
    file.write_text(known.model_copy(update={"hidden": (shown,)}).model_dump_json())
    with read_pool(run) as pool:
        assert bug_detail(pool, known, [])["failing"] == [[shown, True]]


def test_only_what_came_into_the_pool_is_a_bug_of_the_run(tmp_path: Path) -> None:
    """A duplicate was valid too: it has no row, no details, and its folder is nobody's."""
    run = made_run(tmp_path / "run", 2)
    with open_curriculum(run) as pool:
        duplicate = EpisodeRecord(3, "removal", "duplicate", "as another", StoredEpisodeFigures(), bug=bug(7))
        pool.episodes.store(duplicate)
        pool.episodes.take(4)
    (run / "bugs" / bug(7).id).mkdir()
    with read_pool(run) as pool:
        contents = read_contents(pool)
    assert sorted(contents.bugs) == sorted(row["id"] for row in contents.index["bugs"]) and len(contents.bugs) == 3
    assert [what for what, _ in contents.index["problems"]] == [f"bugs/{bug(7).id}"]
    assert [row[2] for row in contents.index["episodes"] if row[5] == "duplicate"] == [""]


def test_each_bug_has_an_episode_before_any_has_two() -> None:
    """Where a page has no room for all: the makers of bugs first, then each bug's first attempt, then the second."""
    rows = [["s1", "solver", "a"], ["s2", "solver", "a"], ["s3", "solver", "b"], ["i0", "injector", ""],
            ["i1", "injector", "a"]]  # fmt: skip
    assert [row[0] for row in _in_turn(rows)] == ["i1", "i0", "s1", "s3", "s2"]


@pytest.mark.parametrize("char", ["\u202e", "\u200b", "\u2066"], ids=["turns text", "no width", "isolates"])
def test_no_path_of_a_diff_hides_what_it_is(char: str) -> None:
    """Not of a file, nor of the one it was renamed from, nor of the function that a hunk names."""
    old, new = f"o{char}ld.py", f"n{char}ew.py"
    lines = [
        f"diff --git a/{old} b/{new}", "similarity index 90%", f"rename from {old}", f"rename to {new}", f"--- a/{old}",
        f"+++ b/{new}", f"@@ -1,2 +1,2 @@ def f{char}():", "     x = 1", f"-    y = {char}", "+    y = 2", "",
    ]  # fmt: skip
    found = diff_value("\n".join(lines))
    assert (found["files"][0]["path"], found["files"][0]["old"]) == ("n\ufffdew.py", "o\ufffdld.py")
    assert char not in json.dumps(found, ensure_ascii=False)
