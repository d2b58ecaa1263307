"""Stored episodes as credit sees them: outcomes, lost ones, groups, tokens."""

from pathlib import Path

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
from selfplay.curriculum.crediting import episodes_of, injection_name, recorded, solver_episode_name
from selfplay.curriculum.lost import attempt_job_name
from selfplay.curriculum.store import ROLES
from selfplay.oracle.assurance import Weak
from selfplay.oracle.reasons import Blame, blamed
from selfplay.rl.credit.rules import CreditedEpisode, CreditRules, Reason, credit
from selfplay.rollout.rollout import InjectorKey


def injection(number: int, status: str, finish: str = "submitted") -> EpisodeRecord:
    figures = StoredEpisodeFigures(finish=finish, usage={"completion_tokens": 100 + number})
    group = InjectorKey("s", "removal", 0, number).group
    if status != "valid":
        return EpisodeRecord(number, "removal", status, "", figures, repository="s", group=group)  # type: ignore[arg-type]
    artifact = Artifact(**{**vars(hand_made.artifact("python")), "test_script": f"echo {number}\n"})
    bug = Bug(
        id=f"b.{number}", strategy="removal", seed=0, source="s", revision="r", commit="c", tree_hash="7" * 40,
        content_hash=artifact.content_hash(), fail_to_pass=("x",), pass_to_pass=("y",), policy="p",
    )  # fmt: skip
    record = EpisodeRecord(number, "removal", "valid", "", figures, tree_key=str(number), artifact=artifact, bug=bug)
    return EpisodeRecord(**{**vars(record), "repository": "s", "group": group})


def attempt(number: int, reason: str, bug: str = "b.0", policy: str = "scripted", finish: str = "submitted") -> Attempt:
    figures = AttemptFigures(finish=finish, usage={"completion_tokens": 10})
    return Attempt(bug, policy, number, reason == "resolved", reason, "", "", figures)


def stored(folder: Path, injections: list[EpisodeRecord], attempts: list[Attempt]) -> Path:
    with open_curriculum(folder) as pool:
        for one in injections:
            pool.episodes.store(one)
        pool.episodes.take(9, repository="s")
        for made in attempts:
            pool.attempts.add(made)
    return folder


def found_in(run: Path, policy: str | None = None, weak: Weak = "refuse") -> list[CreditedEpisode]:
    return [one.episode for one in episodes_of(run, policy, weak)]


def test_a_batch_of_both_roles_by_hand(tmp_path: Path) -> None:
    injections = [injection(0, "valid"), injection(1, "invalid"), injection(2, "gave_up"), injection(3, "valid")]
    attempts = [attempt(0, "resolved"), attempt(1, "failing-tests"), attempt(2, "canaries"), attempt(3, "suspect")]
    found = credit(found_in(stored(tmp_path, injections, attempts)))
    b0, b1, b2, b3, a0, a1, a2, a3 = found
    assert b0.reward == pytest.approx(1 - 1.8 / 3)  # one of three counted attempts: the suspect one is left out of s
    assert (b1.reward, b2.reward) == (-1, -1) and (b3.reward, b3.reason) == (None, Reason.NEVER_ATTEMPTED)
    assert [one.reward for one in (a0, a1, a2)] == [1, -1, -1] and a3.reason is Reason.LOST
    assert [one.episode.tokens for one in found] == [100, 101, 102, 103, 10, 10, 10, 10]
    mean = (0.4 * 100 - 101 - 102) / (100 + 101 + 102)  # the injector's group, weighted by tokens
    assert b0.advantage == pytest.approx(0.4 - mean) and b1.advantage == pytest.approx(-1 - mean)


def test_a_weak_grade_is_rewarded_only_where_it_is_asked_for(tmp_path: Path) -> None:
    made = attempt(0, "resolved")
    weak = Attempt(**{**vars(made), "figures": made.figures.model_copy(update={"assurance": "weak"})})
    run = stored(tmp_path, [injection(0, "valid")], [weak, attempt(1, "weak"), attempt(2, "resolved")])
    assert [one.lost for one in found_in(run)] == [False, True, True, False]
    assert [one.lost for one in found_in(run, weak="count")] == [False, False, True, False]


def test_injections_of_a_run_without_groups_are_compared_with_nobody(tmp_path: Path) -> None:
    """An early version did not say which prompt an episode saw."""
    early = [EpisodeRecord(**{**vars(injection(number, "invalid")), "group": ""}) for number in range(2)]
    found = credit(found_in(stored(tmp_path, early, [])))
    assert [one.reason for one in found] == [Reason.ALONE, Reason.ALONE]


@pytest.mark.parametrize("finish", ["policy_error", "sandbox_lost"])
def test_what_the_machine_did_is_lost(tmp_path: Path, finish: str) -> None:
    run = stored(
        tmp_path, [injection(0, "valid"), injection(1, "failed", finish)],
        [attempt(0, "nothing-handed-in", finish=finish), attempt(1, "error"), attempt(2, "resolved")],
    )  # fmt: skip
    found = found_in(run)
    assert [one.lost for one in found] == [False, True, True, True, False]


def test_a_policy_that_broke_off_by_itself_is_not_lost(tmp_path: Path) -> None:
    run = stored(tmp_path, [injection(0, "valid"), injection(1, "failed", "malformed")], [])
    assert [(one.outcome, one.lost) for one in found_in(run)] == [("valid", False), ("invalid", False)]


@pytest.mark.parametrize(
    ("blame", "outcome", "lost"),
    [("cheat", "cheated", False), ("wrong", "failed", False), ("person", "failed", True), ("machine", "failed", True)],
)
def test_a_reason_is_credited_by_who_is_to_blame(tmp_path: Path, blame: Blame, outcome: str, lost: bool) -> None:
    reasons = sorted(blamed(blame))
    run = stored(tmp_path, [injection(0, "valid")], [attempt(n, reason) for n, reason in enumerate(reasons)])
    found = [(one.outcome, one.lost) for one in found_in(run) if one.role == "solver"]
    assert found == [(outcome, lost)] * len(reasons)


def test_the_names_of_episodes_and_jobs_stay_as_they_are_stored() -> None:
    assert solver_episode_name("b.0", 3) == "b.0 3" and injection_name(7, "-x") == "000007-x-injector"
    assert attempt_job_name("b.0", "p", 3) == "attempt 3 of p at b.0"


def test_one_policy_s_attempts_count(tmp_path: Path) -> None:
    run = stored(
        tmp_path, [injection(0, "valid")], [attempt(0, "resolved", policy="one"), attempt(0, "x", policy="two")]
    )
    assert [one.outcome for one in found_in(run, "two")] == ["valid", "failed"]
    with pytest.raises(CurriculumError, match=r"(?s)no attempt of scripted.*one, two"):
        found_in(run)


def test_attempts_filed_under_another_name_of_the_policy_that_planted(tmp_path: Path) -> None:
    """A training run files its attempts as `training`; those of a stranger are taken only when they are named."""
    with open_curriculum(tmp_path) as pool:
        pool.settle({"policy": "vllm:m"})
        pool.settle_attempts("training", {"policy": "vllm:m", ROLES: "separate"})
    run = stored(tmp_path, [injection(0, "valid")], [attempt(0, "resolved", policy="training")])
    assert [one.outcome for one in found_in(run)] == ["valid", "resolved"]
    assert recorded(run).apart and not recorded(run, "other").apart
    with open_curriculum(run) as pool:
        pool.attempts.add(attempt(0, "x", policy="other"))
    assert [one.outcome for one in found_in(run)] == ["valid", "resolved"]


def test_planned_attempts_that_never_came_are_missed(tmp_path: Path) -> None:
    run = stored(tmp_path, [injection(0, "valid")], [attempt(0, "resolved")])
    first, second = credit(found_in(run), CreditRules(attempts=4))
    assert first.reason is second.reason is Reason.TOO_FEW_ATTEMPTS
