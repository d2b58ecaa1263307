"""The evaluation of an injector against a frozen solver: shares, rewards, intervals, and a second run beside it."""

from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import hand_made
import pytest

from selfplay.artifact import Artifact, Bug
from selfplay.curriculum import (
    Attempt,
    AttemptFigures,
    CurriculumError,
    EpisodeRecord,
    StoredEpisodeFigures,
    open_curriculum,
)
from selfplay.curriculum.injector_evaluation import InjectorEvaluation, evaluate_injector

ENDS = {"valid": "valid", "weakening": "invalid", "gave_up": "gave_up", "unplayed": "unplayed"}


def injection(number: int, prompt: str, end: str) -> EpisodeRecord:
    check = end if ENDS[end] == "invalid" else None
    artifact = Artifact(**{**vars(hand_made.artifact("python")), "test_script": f"echo {number}\n"})
    bug = Bug(
        id=f"b.{number}", strategy="removal", seed=0, source="s", revision="r", commit="c", tree_hash="7" * 40,
        content_hash=artifact.content_hash(), fail_to_pass=("x",), pass_to_pass=("y",), policy="p",
    )  # fmt: skip
    valid = {"tree_key": str(number), "artifact": artifact, "bug": bug} if end == "valid" else {}
    found = {"failed_check": check, "repository": "s", "group": prompt, "figures": StoredEpisodeFigures(), **valid}
    return EpisodeRecord(number, "removal", ENDS[end], **found)  # type: ignore[arg-type]


def stored(folder: Path, injections: Sequence[tuple[str, str, str]]) -> Path:
    """A run of injections: (prompt, how it ended, the solver's attempts at its bug, `+` for resolved)."""
    with open_curriculum(folder) as pool:
        for number, (prompt, end, _) in enumerate(injections):
            pool.episodes.store(injection(number, prompt, end))
        pool.episodes.take(9, repository="s")
        for number, (_, _, attempts) in enumerate(injections):
            for attempt, mark in enumerate(attempts):
                reason = "resolved" if mark == "+" else "failing-tests"
                pool.attempts.add(Attempt(f"b.{number}", "one", attempt, mark == "+", reason, "", "", AttemptFigures()))
    return folder


TWO = [("p", "valid", "+---"), ("p", "weakening", ""), ("q", "valid", "++--"), ("q", "valid", "----")]


def test_the_table_by_hand(tmp_path: Path) -> None:
    """Rewards 1 - 1.8/4 = 0.55 and -1 of prompt p, mean -0.225; 1 - 1.8/2 = 0.1 and -0.8 of prompt q, mean -0.35."""
    found = evaluate_injector(stored(tmp_path, TWO), "one", 4)
    assert (found.episodes, found.groups, found.lost, found.unrewarded) == (4, 2, 0, {})
    assert {end: (one.episodes, one.share.mean) for end, one in found.ends.items()} == {
        "valid": (3, 0.75), "weakening": (1, 0.25),
    }  # fmt: skip
    assert found.valid.mean == 0.75 and found.reward is not None
    assert found.reward.mean == pytest.approx((-0.225 - 0.35) / 2)
    assert found.diversity["near_duplicate_rate"] == pytest.approx(2 / 3, abs=1e-4)  # three times the same diff


def test_intervals_resample_prompts(tmp_path: Path) -> None:
    """Of two prompts with valid shares 0.5 and 1 a resample has a mean of 0.5, 0.75 or 1; each end comes up in a
    quarter of them, more than the 2.5 % that are cut off. One prompt alone has no interval."""
    found = evaluate_injector(stored(tmp_path / "two", TWO), "one", 4)
    assert (found.valid.low, found.valid.high) == (0.5, 1.0)
    assert found == evaluate_injector(tmp_path / "two", "one", 4)
    alone = evaluate_injector(stored(tmp_path / "one", TWO[:2]), "one", 4)
    assert alone.valid.mean == 0.5 and alone.valid.low is None


def test_what_has_no_reward_is_counted_and_what_was_lost_counts_nowhere(tmp_path: Path) -> None:
    """One of four attempts is fewer than half; a lost episode is in no share."""
    run = stored(tmp_path, [("p", "valid", "+-"), ("p", "valid", "+"), ("q", "valid", ""), ("q", "unplayed", "")])
    found = evaluate_injector(run, "one", 4)
    assert (found.episodes, found.lost, found.valid.mean) == (3, 1, 1.0)
    assert found.unrewarded == {"too few attempts": 1, "never attempted": 1}
    assert found.reward is not None and found.reward.mean == pytest.approx(0.1) and found.reward.low is None


def test_attempts_beyond_those_asked_for_change_nothing(tmp_path: Path) -> None:
    less = evaluate_injector(stored(tmp_path / "a", [("p", "valid", "+-")]), "one", 2)
    assert less == evaluate_injector(stored(tmp_path / "b", [("p", "valid", "+-++")]), "one", 2)


def test_two_runs_are_compared_prompt_by_prompt(tmp_path: Path) -> None:
    """p: shares 0.5 and 0, rewards -0.225 and -1. q: 1 and 1, -0.35 and 0.55. r is in one run alone."""
    theirs = stored(tmp_path / "b", [("p", "gave_up", ""), ("q", "valid", "+---"), ("r", "valid", "++++")])
    other = evaluate_injector(stored(tmp_path / "a", TWO), "one", 4, theirs).against
    assert other is not None and (other.groups, other.valid.mean) == (2, 0.25)
    assert other.reward is not None and other.reward.mean == pytest.approx(fmean([-0.225 + 1, -0.35 - 0.55]))
    itself = evaluate_injector(tmp_path / "a", "one", 4, tmp_path / "a").against
    assert itself is not None and itself.reward is not None
    assert (itself.valid.low, itself.valid.high, itself.reward.mean) == (0, 0, 0)


@pytest.mark.parametrize(
    ("injections", "why"),
    [
        ([], "has no injector episode to evaluate"),
        ([("p", "unplayed", "")], "has no injector episode to evaluate"),
        ([("p", "valid", "")], "has no attempt of one"),
    ],
)
def test_what_cannot_be_evaluated_says_why(tmp_path: Path, injections: list[tuple[str, str, str]], why: str) -> None:
    with pytest.raises(CurriculumError, match=f"{tmp_path} {why}"):
        evaluate_injector(stored(tmp_path, injections), "one", 4)


def test_runs_without_a_common_prompt_are_not_compared(tmp_path: Path) -> None:
    theirs = stored(tmp_path / "b", [("r", "gave_up", "")])
    with pytest.raises(CurriculumError, match=r"have no prompt in common"):
        evaluate_injector(stored(tmp_path / "a", TWO), "one", 4, theirs)


def test_no_bug_at_all_is_a_result(tmp_path: Path) -> None:
    """Nothing could be attempted: both episodes earn -1."""
    found: InjectorEvaluation = evaluate_injector(
        stored(tmp_path, [("p", "gave_up", ""), ("q", "weakening", "")]), "x", 4
    )
    assert (found.valid.mean, found.valid.high) == (0.0, 0.0)
    assert found.reward is not None and found.reward.mean == -1 and found.diversity["near_duplicate_rate"] is None
