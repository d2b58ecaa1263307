"""The evaluation of stored attempts: which count, how they are grouped, and what is said where there are none."""

from pathlib import Path

import hand_made
import pytest

from selfplay.artifact import Artifact, Bug
from selfplay.curriculum import Attempt, AttemptFigures, Curriculum, CurriculumError, EpisodeRecord, open_curriculum
from selfplay.curriculum.evaluation import evaluate


def filled(folder: Path, solves: dict[str, list[str]]) -> Path:
    """A run with three bugs, of two strategies; policy -> for each bug the attempts, `+` for resolved."""
    with open_curriculum(folder) as pool:
        for number, strategy in enumerate(("removal", "removal", "history")):
            pool.episodes.store(valid(number, strategy))
        pool.episodes.take(3)
        for policy, each in solves.items():
            for bug, said in zip(pool.bugs(), each, strict=True):
                attempted(pool, bug.id, policy, said)
    return folder


def valid(number: int, strategy: str) -> EpisodeRecord:
    artifact = Artifact(**{**vars(hand_made.artifact("python")), "test_script": f"echo {number}\n"})
    bug = Bug(
        id=f"b.{number}", strategy=strategy, seed=0, source="s", revision="r", commit="c", tree_hash="7" * 40,
        content_hash=artifact.content_hash(), fail_to_pass=("x",), pass_to_pass=("y",), policy="p",
    )  # fmt: skip
    return EpisodeRecord(number, strategy, "valid", tree_key=str(number), artifact=artifact, bug=bug)


def attempted(pool: Curriculum, bug: str, policy: str, said: str) -> None:
    for number, mark in enumerate(said):
        figures = AttemptFigures(episode_seconds=2.0, calls=3, usage={"prompt_tokens": 10, "completion_tokens": 4})
        reason = "resolved" if mark == "+" else "failing-tests"
        pool.attempts.add(Attempt(bug, policy, number, mark == "+", reason, "", "", figures))


def test_the_table_by_hand(tmp_path: Path) -> None:
    found = evaluate(filled(tmp_path, {"one": ["++--", "+---", "----"]}), "one", 4)
    every, history, removal = found.rows
    assert (every.kind, every.bugs, every.attempts, every.resolved) == ("all", 3, 12, 3)
    assert every.pass_at[1].mean == pytest.approx((2 / 4 + 1 / 4 + 0) / 3)
    # pass@2: 1 - C(2, 2) / C(4, 2) = 5/6, 1 - C(3, 2) / C(4, 2) = 1/2, 0
    assert every.pass_at[2].mean == pytest.approx((5 / 6 + 1 / 2 + 0) / 3)
    assert every.pass_at[4].mean == pytest.approx(2 / 3) and list(every.pass_at) == [1, 2, 4]
    assert (history.value, history.bugs, history.pass_at[1].mean) == ("history", 1, 0.0)
    assert (removal.value, removal.bugs, removal.pass_at[4].mean) == ("removal", 2, 1.0)
    assert (found.cost.seconds, found.cost.calls, found.cost.prompt_tokens) == (2.0, 3.0, 10.0)
    assert found.reasons == {"failing-tests": 9, "resolved": 3} and found.incomplete == ()


def test_attempts_beyond_those_asked_for_change_nothing(tmp_path: Path) -> None:
    less = evaluate(filled(tmp_path / "a", {"one": ["+-", "--", "++"]}), "one", 2)
    more = evaluate(filled(tmp_path / "b", {"one": ["+-++", "--++", "++++"]}), "one", 2)
    assert less == more == evaluate(tmp_path / "b", "one", 2)


def test_a_bug_with_fewer_attempts_counts_with_those_and_is_named(tmp_path: Path) -> None:
    found = evaluate(filled(tmp_path, {"one": ["++--", "+", "--"]}), "one", 4)
    every = found.rows[0]
    assert found.incomplete == ("b.1", "b.2")
    assert every.pass_at[1].mean == pytest.approx((0.5 + 1 + 0) / 3)
    assert every.pass_at[4].mean == 1.0 and every.pass_at[4].low is None  # of the one bug with four attempts


def test_two_policies_are_compared_bug_by_bug(tmp_path: Path) -> None:
    run = filled(tmp_path, {"one": ["++", "+-", "--"], "two": ["+-", "--", ""]})
    other = evaluate(run, "one", 2, against="two").against
    assert other is not None and other.bugs == 2
    assert (other.ours, other.theirs) == (0.75, 0.25)
    assert other.difference.mean == pytest.approx(0.5) and other.difference.low == pytest.approx(0.5)


def test_no_attempt_is_said_with_whose_there_are(tmp_path: Path) -> None:
    run = filled(tmp_path, {"one": ["+", "-", "+"], "two": ["", "", ""]})
    with pytest.raises(CurriculumError, match=r"(?s)no attempt of three.*There are attempts of one"):
        evaluate(run, "three", 2)
    with pytest.raises(CurriculumError, match="no attempt of two"):
        evaluate(run, "one", 2, against="two")
