"""Which bugs a dataset holds, in which split, and what it says of those that it left out."""

from pathlib import Path

import hand_made
import pools
import pytest
from export.exporting import ARTIFACT, ORIGINAL, exported, run

from selfplay.commands.export import ExportOrder, run_export
from selfplay.curriculum import CurriculumError
from selfplay.export import pools as pools_read
from selfplay.export.bug_selection import BugSelection
from selfplay.validators import CHECKS

__all__ = ["run"]


def test_bugs_that_are_damaged_are_left_out_counted_and_named(run: Path, tmp_path: Path) -> None:
    bugs = sorted((run / "bugs").iterdir())
    (bugs[0] / "bug_inject.diff").write_text("half a ")
    (bugs[1] / "bug.json").write_text('{"schema_version": 1, "id"')
    found = exported(run, tmp_path / "out")
    assert found.splits == {"train": 1}
    assert [Path(name.split(": ")[1]).name for name in found.damaged] == ["shop-1.removal.0", "shop-1.removal.1"]
    card = (tmp_path / "out" / "README.md").read_text()
    assert all(f"{run}: shop-1.removal.{number}" in card for number in (0, 1))


def test_bytes_that_json_cannot_hold_leave_a_bug_out(tmp_path: Path) -> None:
    odd = pools.numbered(hand_made.artifact("python"), 2)
    raw = ARTIFACT.__class__(**{**vars(ARTIFACT), "test_script": "echo \udce9\n"})
    odd[0] = (pools.bug(raw, id="shop-1.removal.odd"), raw)
    found = exported(pools.pool(tmp_path / "run", ORIGINAL, odd), tmp_path / "out")
    assert found.splits == {"train": 1} and "not UTF-8" in next(iter(found.damaged.values()))


def test_one_bug_of_two_pools_is_one_and_two_of_one_name_are_two(tmp_path: Path) -> None:
    one = pools.numbered(ARTIFACT, 2)
    other = [one[0], (one[0][0].model_copy(update={"id": one[1][0].id}), one[0][1])]
    first = pools.pool(tmp_path / "first", ORIGINAL, one)
    second = pools.pool(tmp_path / "second", ORIGINAL, [other[0]])
    third = pools.pool(tmp_path / "third", ORIGINAL, [other[1]])
    found = run_export(ExportOrder((first, second, third), tmp_path / "out"))
    ids = [row["instance_id"] for row in pools.rows(tmp_path / "out")]
    assert found.left_out == {"in two pools": 1}
    assert ids[:2] == ["selfplay__shop-1.removal.0", "selfplay__shop-1.removal.1"] and len(set(ids)) == 3
    assert ids[2].startswith("selfplay__shop-1.removal.1.")


def test_of_one_bug_in_two_pools_the_user_s_own_record_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger's copy of it could name other tests and another setup."""
    ((bug, artifact),) = pools.numbered(ARTIFACT, 1)
    strange = bug.model_copy(update={"fail_to_pass": ("tests/test_a.py::test_none",)})
    runs = [pools.pool(tmp_path / name, ORIGINAL, [(one, artifact)]) for name, one in (("a", strange), ("b", bug))]
    monkeypatch.setattr(pools_read, "is_own", lambda run: run == runs[1])
    for number, order in enumerate((runs, runs[::-1])):
        run_export(ExportOrder(tuple(order), tmp_path / f"out{number}", "swesmith"))
        (row,) = pools.rows(tmp_path / f"out{number}")
        assert row["FAIL_TO_PASS"] == list(bug.fail_to_pass)


def test_the_card_says_of_how_many_bugs_all_checks_are_recorded(tmp_path: Path) -> None:
    passed = tuple({"check": name, "passed": True, "reason": ""} for name in CHECKS)
    bugs = pools.numbered(ARTIFACT, 2, verdicts=passed)
    exported(pools.pool(tmp_path / "all", ORIGINAL, bugs), tmp_path / "one")
    assert "Each bug passed 8 checks in a sandbox, as its run records" in (tmp_path / "one" / "README.md").read_text()
    bugs[0] = (bugs[0][0].model_copy(update={"verdicts": passed[:-1]}), bugs[0][1])
    exported(pools.pool(tmp_path / "some", ORIGINAL, bugs), tmp_path / "two")
    card = (tmp_path / "two" / "README.md").read_text()
    assert "Of 2 bugs 1 passed 8 checks" in card and "Of the others no run records that." in card


def test_a_pool_without_a_bug_that_fits_says_why(run: Path, tmp_path: Path) -> None:
    with pytest.raises(CurriculumError, match="no bug to export") as found:
        exported(run, tmp_path / "out", choice=BugSelection(min_order=2))
    assert "3 of another order" in found.value.hint
    assert not (tmp_path / "out").exists()


def test_bugs_are_chosen_by_solve_rate_and_strategy(run: Path, tmp_path: Path) -> None:
    pools.attempts(run, "shop-1.removal.0", "++++")
    pools.attempts(run, "shop-1.removal.1", "+...")
    pools.attempts(run, "shop-1.removal.2", "++++", policy="gold")  # a control is no attempt
    found = exported(run, tmp_path / "out", choice=BugSelection(solve_rate=(0.1, 0.9)))
    assert found.left_out == {"of another solve rate": 1, "without an attempt": 1}
    (row,) = pools.rows(tmp_path / "out")
    assert (row["instance_id"], row["ssr_solve_rate"]) == ("selfplay__shop-1.removal.1", 0.25)  # 1 of 4
    with pytest.raises(CurriculumError):
        exported(run, tmp_path / "none", choice=BugSelection(strategies=("history",)))


def test_a_split_keeps_a_repository_whole(tmp_path: Path) -> None:
    runs = [
        pools.pool(
            tmp_path / name, ORIGINAL,
            [(one.model_copy(update={"id": f"{name}.{place}", "source": f"pypi:{name}==1"}), artifact)
             for place, (one, artifact) in enumerate(pools.numbered(ARTIFACT, 2))],
        )
        for name in ("red", "green", "blue", "grey")
    ]  # fmt: skip
    found = run_export(ExportOrder(runs, tmp_path / "out", train=0.75))
    assert found.splits == {"train": 6, "test": 2}  # three of four repositories, two bugs each
    sources = [{row["ssr_source"] for row in pools.rows(tmp_path / "out", split)} for split in ("train", "test")]
    assert not sources[0] & sources[1]
    with pytest.raises(CurriculumError, match="one repository cannot be split"):
        run_export(ExportOrder(runs[:1], tmp_path / "other", train=0.75))
