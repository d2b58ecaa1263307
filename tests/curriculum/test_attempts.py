"""The pool of attempts: each counted once, kept through reopening; second-order bugs are whole before they are rows."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import hand_made
import pytest

from selfplay.artifact import Bug, load_bug
from selfplay.artifact.bug import FailedAttempt
from selfplay.curriculum import (
    Attempt,
    AttemptFigures,
    EpisodeRecord,
    Promotion,
    StoredEpisodeFigures,
    open_curriculum,
)
from selfplay.curriculum.attempts import file_name
from selfplay.curriculum.stored_bugs import bug_folders
from selfplay.curriculum.summary import summarise
from selfplay.oracle.leak_audit.audit import Audit, Finding

ARTIFACT = hand_made.artifact("python")


def attempt(number: int, resolved: bool = False, bug: str = "b.1", policy: str = "p") -> Attempt:
    reason = "resolved" if resolved else "failing-tests"
    return Attempt(bug, policy, number, resolved, reason, "why", f"diff {number}\n", AttemptFigures(seconds=1.0))


def result(number: int, id: str) -> EpisodeRecord:
    """A valid first-order bug."""
    bug = Bug(
        id=id, strategy="removal", seed=0, source="s", revision="r", commit="c", tree_hash="7" * 40,
        content_hash=ARTIFACT.content_hash(), fail_to_pass=("x",), pass_to_pass=("y",), policy="p",
    )  # fmt: skip
    figures = StoredEpisodeFigures(seconds=1.0, files=("a.py",), changed_lines=1)
    return EpisodeRecord(number, "removal", "valid", "", figures, None, f"tree {number}", ARTIFACT, bug)


def child(tree: str = "tree", number: int = 0, parent: str = "b.1") -> Promotion:
    bug = Bug(
        id=f"{parent}.o2.{number}", order=2, parent=parent, root=parent, strategy="removal", seed=0, source="s",
        revision="r", commit="c", tree_hash="7" * 40, content_hash=ARTIFACT.content_hash(), fail_to_pass=("x",),
        pass_to_pass=("y",), policy="p", attempt=FailedAttempt(policy="p", number=number, sha256="0"),
    )  # fmt: skip
    return Promotion(parent, "p", number, "promoted", tree, bug)


def test_an_attempt_is_counted_once_and_kept(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.attempts.add(attempt(0))
        pool.attempts.add(replace(attempt(0, resolved=True), diff="another"))  # the same again changes nothing
        pool.attempts.add(attempt(1, resolved=True))
        pool.attempts.add(attempt(0, policy="q/model:7b"))
    with open_curriculum(tmp_path) as pool:
        assert pool.attempts.finished("p") == {("b.1", 0), ("b.1", 1)}
        first, second, other = pool.attempts.all()
        assert (first.resolved, second.resolved, other.policy) == (False, True, "q/model:7b")
        assert [found.diff for found in (first, second)] == ["diff 0\n", "diff 1\n"]


def test_a_diff_whose_file_is_gone_reads_as_empty(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.attempts.add(attempt(0))
        (tmp_path / "attempts" / "b.1" / "p-000.diff").unlink()
        assert [found.diff for found in pool.attempts.all()] == [""]


@pytest.mark.parametrize(
    ("policy", "name"), [("a/b:c", "a-b-c-"), ("../x", "x-"), ("///", "policy-"), ("scripted", "scripted")]
)
def test_any_policy_has_a_file_name(policy: str, name: str) -> None:
    found = file_name(policy)
    assert found == name or (found.startswith(name) and len(found) == len(name) + 8)  # a part of the name's hash


def test_no_two_policies_share_a_file(tmp_path: Path) -> None:
    names = ("openai:a/b", "openai:a-b", f"vllm:{'x' * 90}/step_100", f"vllm:{'x' * 90}/step_200")
    assert len({file_name(name) for name in names}) == 4
    with open_curriculum(tmp_path) as pool:
        for name in names:
            pool.attempts.add(replace(attempt(0, policy=name), diff=name))
        assert {found.policy: found.diff for found in pool.attempts.all()} == {name: name for name in names}


def test_a_second_order_bug_survives_reopening_and_a_folder_without_a_row_is_written_anew(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.attempts.add_promotion(child(), ARTIFACT, "the diff\n")
        pool.attempts.add_promotion(Promotion("b.1", "p", 1, "no-op"), ARTIFACT, "")
        pool.attempts._write(child("other", 2).bug, ARTIFACT, "")  # type: ignore[arg-type]  # as a kill would leave it
        assert (tmp_path / "bugs" / "b.1.o2.2").exists()
    with open_curriculum(tmp_path) as pool:
        (bug,) = pool.attempts.bugs()
        folder = tmp_path / "bugs" / bug.id
        assert load_bug(folder) == bug and (folder / "attempt.diff").read_text() == "the diff\n"
        assert bug_folders(tmp_path) == [folder]  # what a kill left is not a bug of the run
        pool.attempts.add_promotion(child("other", 2), ARTIFACT, "its diff\n")
        assert (tmp_path / "bugs" / "b.1.o2.2" / "attempt.diff").read_text() == "its diff\n"
        assert pool.attempts.considered() == {("b.1", "p", number) for number in range(3)}
        assert (pool.attempts.children("b.1"), pool.attempts.trees()) == (2, {"tree", "other"})


def test_a_tree_is_promoted_once(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.attempts.add_promotion(child("tree", 0), ARTIFACT, "")
        pool.attempts.add_promotion(child("tree", 1, parent="b.2"), ARTIFACT, "")  # made at the same time, of another
        statuses = {promotion.parent: promotion.status for promotion in pool.attempts.promotions()}
        assert statuses == {"b.1": "promoted", "b.2": "duplicate"} and len(pool.attempts.bugs()) == 1


def test_the_figures_of_solving_by_hand(tmp_path: Path) -> None:
    with open_curriculum(tmp_path) as pool:
        for number in (1, 2):
            pool.episodes.store(result(number - 1, id=f"b.{number}"))
        pool.episodes.take(2)
        for number, resolved in enumerate((True, False, True, False)):
            pool.attempts.add(attempt(number, resolved))
        pool.attempts.add(attempt(0, bug="b.2"))
        pool.attempts.add(attempt(1, bug="b.2"))
        pool.attempts.add(attempt(0, bug="gone"))  # of no bug of the pool: counts nowhere
        found = summarise(pool)["solving"]["p"]
    assert found["order_1"] == {
        "bugs": 2, "attempts": 6, "resolved": 2,
        "mean_solve_rate": 0.25,  # (2/4 + 0/2) / 2
        "solved_at_least_once": 1, "strictly_between": 1, "histogram": {"0": 1, "2": 1},
    }  # fmt: skip
    assert found["reasons"] == {"resolved": 2, "failing-tests": 4} and found["order_2"]["mean_solve_rate"] is None


def test_an_audit_that_names_any_bytes_is_read_again_and_a_damaged_one_is_none(tmp_path: Path) -> None:
    found = Audit(1, (Finding("copy\udcff.txt", "text", 1.0),))
    bug = result(0, "b.1").bug
    assert bug is not None
    with open_curriculum(tmp_path) as pool:
        pool.attempts.record_audit(bug, found)
        assert pool.attempts.audited([bug]) == {bug.id: found.state}
    with sqlite3.connect(tmp_path / "curriculum.sqlite") as database:
        database.execute("UPDATE audits SET findings = ?", ('{"state": "\\udcff"}',))
    with open_curriculum(tmp_path) as pool:
        assert pool.attempts.audited([bug]) == {}
