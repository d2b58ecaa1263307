"""The summary of a pool, counted by hand."""

import json
from dataclasses import replace
from pathlib import Path

import hand_made
import pools
import pytest
from curriculum.stored_results import result
from rich.console import Console

from selfplay import patches
from selfplay.agent import Trajectory
from selfplay.agent.actions import Finish
from selfplay.commands.storing import store_attempt
from selfplay.curriculum import Attempt, AttemptFigures, CurriculumError, open_curriculum
from selfplay.curriculum.summary import summarise, write_summary
from selfplay.report.quality import quality_report
from selfplay.rollout.rollout import Rollout, SolverKey, SolverOutcome


def test_the_summary_counts_by_hand(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        for one in (result(0), result(1, "invalid"), result(2, "gave_up"), result(3, tree="tree 0"), result(4)):
            pool.episodes.store(one)
        pool.episodes.take(2)
        summary = summarise(pool)
    assert [(bug["id"], bug["episode"], bug["changed_lines"]) for bug in summary["bugs"]] == [
        ("b.0", 0, 0), ("b.4", 4, 4),
    ]  # fmt: skip
    assert summary["figures"] == {
        "bugs": 2, "by_strategy": {"removal": 2}, "episodes": 5,
        "submitted": 4, "valid_share": 0.667,  # all but the one that gave up; the duplicate aside, two of three
        "statuses": {"valid": 2, "invalid": 1, "gave_up": 1, "duplicate": 1}, "failed_checks": {"bug": 1},
        "reasons": {"why": 1},  # of the episode that gave up
        "median_changed_lines": 2.0,  # of 0 and 4
        "median_fail_to_pass": 1, "files_touched": 1, "validation_suite_runs": 15,  # 5 times 3
        "played_again": 0, "unplayed": {},
        "finishes": {}, "malformed_calls": 0, "usage": {},  # no model played
    }  # fmt: skip
    write_summary(tmp_path, summary)
    assert json.loads((tmp_path / "summary.json").read_text()) == summary


def test_why_grades_are_weak_is_counted_by_layer(tmp_path: Path) -> None:
    weak = AttemptFigures(assurance="weak", weaknesses=("parts: 2 of 3 lines", "coverage: did not run"))
    with open_curriculum(tmp_path) as pool:
        pool.episodes.store(result(0))
        pool.episodes.take(1)
        for number, figures in enumerate((weak, weak, AttemptFigures(assurance="full"), AttemptFigures())):
            pool.attempts.add(Attempt("b.0", "searcher", number, True, "resolved", "", "", figures))
        summary = summarise(pool)
        stored = [one.figures.weaknesses for one in pool.attempts.all()]
    assert stored == [weak.weaknesses, weak.weaknesses, (), ()]
    found = summary["solving"]["searcher"]
    assert found["assurance"] == {"weak": 2, "full": 1} and found["weak_layers"] == {"parts": 2, "coverage": 2}
    console = Console(width=120, color_system=None)
    with console.capture() as captured:
        console.print(quality_report(summary))
    (line,) = [line for line in captured.get().splitlines() if "weakly assured grades" in line]
    assert "2 of 3: parts 2, coverage 2" in line


@pytest.mark.parametrize("bug", ["../x", "/tmp/x", "a/b"])
def test_an_attempt_at_what_is_no_bug_is_not_stored(tmp_path: Path, bug: str) -> None:
    with open_curriculum(tmp_path / "run") as pool:
        with pytest.raises(CurriculumError, match="is not a bug's name"):
            pool.attempts.add(Attempt(bug, "p", 0, True, "resolved", "", "", AttemptFigures()))
        task = SolverKey(bug, "p", 0, 0)
        played = Rollout(
            Trajectory("solver", "p", Finish.SUBMITTED), task, SolverOutcome(True, "resolved", "", "", 0.0)
        )
        with pytest.raises(CurriculumError, match="is not a bug's name"):
            store_attempt(pool, played)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run"]


def test_a_bug_whose_diff_is_none_is_left_out_of_the_figures(tmp_path: Path) -> None:
    """It ended `show RUN` and each command's summary, without naming the bug."""
    artifact = hand_made.artifact("python")
    broken = replace(artifact, bug_inject="hello\n")
    bugs = [*pools.numbered(artifact, 2), (pools.bug(broken, id="shop-1.removal.9"), broken)]
    with open_curriculum(pools.pool(tmp_path / "run", hand_made.original("python"), bugs)) as pool:
        summary = summarise(pool)
    files = len(patches.parse(artifact.bug_inject))
    assert len(summary["bugs"]) == 3 and summary["quality"]["files_per_bug"]["least"] == files


def test_an_empty_pool_has_a_summary(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        figures = summarise(pool)["figures"]
    assert (figures["bugs"], figures["valid_share"], figures["median_changed_lines"]) == (0, None, None)
