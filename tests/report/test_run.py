"""The page of a run holds words and numbers, never Python."""

import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from selfplay.curriculum import EpisodeRecord, StoredEpisodeFigures, open_curriculum
from selfplay.curriculum.ends import told
from selfplay.curriculum.summary import summarise
from selfplay.report.run import run_page

PYTHON = re.compile(r"\bNone\b|[{}\[\]']|\b1 (files|tests|bugs|episodes|artifacts|worlds|runs)\b|_")
FACTS = {
    "wanted": 2, "stopped": "enough bugs", "notes": [],
    "suite": {"tests": 1, "files": 1, "wall_seconds": 0.3, "failing_at_head": [], "flaky_at_head": [],
              "left_out_files": []},
}  # fmt: skip
RATES = {"bugs": 1, "attempts": 2, "resolved": 1, "mean_solve_rate": 0.5, "solved_at_least_once": 1,
         "strictly_between": 1, "histogram": {"0": 3, "1": 1, "5": 1}}  # fmt: skip
NO_RATES = {**RATES, "bugs": 0, "attempts": 0, "resolved": 0, "mean_solve_rate": None, "histogram": {}}


def page(summary: dict[str, Any]) -> str:
    console = Console(width=160, color_system=None)
    with console.capture() as captured:
        console.print(run_page(summary, Path("runs/x")))
    return captured.get()


@pytest.fixture
def summary(tmp_path: Path) -> dict[str, Any]:
    """A run whose episodes all gave up, but for two whose artifact failed a check."""
    with open_curriculum(tmp_path) as pool:
        for number in range(5):
            failed = number > 2
            status, check = ("invalid", "inverse_mutation") if failed else ("gave_up", None)
            figures = StoredEpisodeFigures(seconds=1.0)
            why = "" if failed else "nothing is left to change"
            result = EpisodeRecord(number, "removal", status, why, figures, failed_check=check)
            pool.episodes.store(result)
        pool.episodes.take(1)
        return {**FACTS, **summarise(pool), "cost": {}}


def test_a_run_without_a_bug_is_told_in_words(summary: dict[str, Any]) -> None:
    text = page(summary)
    assert not PYTHON.search(text), PYTHON.search(text)
    assert "0 of 2 bugs (enough bugs) in runs/x" in text and "suite: 1 test in 1 file, 0.3 s a run" in text
    said = "why not more: of 5 episodes 3 gave up, 2 failed a check (by check: 2 inverse mutation)"
    assert f"{said}: nothing is left to change (3 times)" in text
    assert (
        told({"none of 8 tries: too long (8)": 1, "gone": 2}) == "none of 8 tries: too long (8), once; gone (2 times)"
    )
    assert "took" not in text


def test_what_the_whole_run_took_is_what_its_cost_says(summary: dict[str, Any]) -> None:
    """All laps, second-order bugs too; `suite_runs_worth` over the bugs. Nothing of the last part of a run alone."""
    lap = {"wall_seconds": 60.0, "core_seconds": 30.0}
    cost = {"prepare": lap, "bugs": lap, "second_order": lap, "suite_core_seconds": 2.0, "suite_runs_worth": 15.0}
    figures = {**summary["figures"], "bugs": 2}
    text = page({**summary, "figures": figures, "cost": cost})
    assert "took 3 min 0 s, 7.5 suite runs' worth of core time a bug" in text  # 15 runs for 2 bugs
    assert "2 of 2 bugs" in text and "why not more" not in text  # nobody asked for more


def test_hidden_tests_are_told_in_words(summary: dict[str, Any]) -> None:
    def line(hidden: Any) -> str:
        figures = {**summary["figures"], "bugs": 1}
        text = page({**summary, "figures": figures, "quality": {**summary["quality"], "hidden_share": hidden}})
        return next(row for row in text.splitlines() if "share of F2P hidden" in row)

    nothing = {"least": 0, "median": 0, "mean": 0, "most": 0}
    assert "none: solvers are shown every test that decides" in line(nothing)
    assert "median 50%, mean 40%, 20% to 50%" in line({"least": 0.2, "median": 0.5, "mean": 0.4, "most": 0.5})
    assert "no bugs to tell of" in line(None)


def test_attempts_and_second_order_bugs_are_told_in_words(summary: dict[str, Any]) -> None:
    solving = {"openai:m": {"order_1": RATES, "order_2": NO_RATES}}
    second = {"bugs": 1, "fail_to_pass": None, "statuses": {"promoted": 1, "duplicate": 2, "touches-tests": 1}}
    solved = {"openai:m": {"resolved": 1, "attempts": 2}, "gold": {"resolved": 1, "attempts": 1}}
    row = {"id": "x.o2.1", "parent": "x", "attempt": {"policy": "openai:m", "number": 0}, "fail_to_pass": 1,
           "pass_to_pass": 2, "solved": solved}  # fmt: skip
    text = page({**summary, "solving": solving, "second_order_bugs": [row],
                 "quality": {**summary["quality"], "second_order": second, "audited": 3, "leaking": 1,
                             "not_auditable": ["x"]}})  # fmt: skip
    assert "3 solved never, 1 solved once, 1 solved 5 times" in text and "1 of 2" in text
    assert "1; not promoted: 2 duplicate, 1 touches tests" in text and "3, 1 leaks, 1 cannot be audited" in text
    assert "attempt 0 of openai:m" in text and "gold 1 of 1" not in text


def test_controls_count_bugs_of_both_orders(summary: dict[str, Any]) -> None:
    """One of two resolved at a bug of first order, three of three at two of second."""
    second = {**RATES, "bugs": 2, "attempts": 3, "resolved": 3}
    text = page({**summary, "solving": {"gold": {"order_1": RATES, "order_2": second}}})
    assert re.search(r"gold patch resolved +│ 4 of 5, on 3 bugs", text), text


def test_bugs_solved_once_stand_before_those_solved_at_times(summary: dict[str, Any]) -> None:
    """Seven were solved at least once, of which five not always: the last two figures before the histogram."""
    rates = {**RATES, "bugs": 9, "attempts": 18, "resolved": 9, "solved_at_least_once": 7, "strictly_between": 5}
    text = page({**summary, "solving": {"openai:m": {"order_1": rates, "order_2": NO_RATES}}})
    (row,) = (line for line in text.splitlines() if "9 of 18" in line)
    cells = [cell.strip() for cell in row.strip("│ ").split("│")]
    assert cells[:7] == ["openai:m", "1", "9", "9 of 18", "50.0%", "7", "5"]


def test_tasks_of_others_are_told_as_tasks(summary: dict[str, Any]) -> None:
    row = {"id": "shop__shop-1", "order": 1, "source": "me/shop", "form": "swebench", "weakened": False,
           "fail_to_pass": 2, "pass_to_pass": 7, "solved": {"scripted": {"resolved": 1, "attempts": 2}}}  # fmt: skip
    text = page({**summary, "imported": [row], "repositories": []})
    assert "Imported tasks" in text and "shop__shop-1" in text and "scripted 1 of 2" in text
    assert "no bugs to tell of" not in text and "worlds searched for leaks" in text


def test_a_run_without_a_bug_has_a_sentence_and_no_tables(summary: dict[str, Any]) -> None:
    text = page(summary)
    assert "F2P" not in text and "Quality" not in text and "no bugs to tell of" not in text
    assert text.startswith("0 of 2 bugs (enough bugs) in runs/x")
    first = {name: value for name, value in summary.items() if name not in FACTS}
    assert page(first).strip() == "no bug in runs/x: 5 episodes so far"
    none = {**first, "figures": {**summary["figures"], "episodes": 0}}
    assert page(none).strip() == "no bug in runs/x: no episode is finished"
