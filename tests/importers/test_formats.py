"""A row of any format that is exported here reads back as the task it was made of."""

from pathlib import Path

import hand_made
import pools
import pytest

from selfplay import patches
from selfplay.artifact.bug import load_bug
from selfplay.commands.export import ExportOrder, run_export
from selfplay.commands.importing import bug_of
from selfplay.export.bug_selection import BugSelection
from selfplay.export.formats import Form
from selfplay.importers.rows import read_rows
from selfplay.importers.tasks import task_of

ARTIFACT = hand_made.artifact("python")
ODD = ("tests/test_a.py::test_x[a  b]", "tests/test_a.py::test_x[é - 50%25]", "tests/test_a.py::test_[[")


@pytest.mark.parametrize("form", ["swebench", "swesmith", "r2e", "harbor", "hf"])
def test_a_task_survives_the_way_out_and_in(tmp_path: Path, form: Form) -> None:
    bug = pools.bug(ARTIFACT, fail_to_pass=ODD, pass_to_pass=("tests/test_a.py::test_well",), hidden=ODD[:1])
    run = pools.pool(tmp_path / "run", hand_made.original("python"), [(bug, ARTIFACT)])
    run_export(ExportOrder((run,), tmp_path / "out", form))
    (row,) = read_rows(tmp_path / "out")
    task = task_of(row)
    assert (
        task.artifact == ARTIFACT
        and task.tree_hash == pools.tree_of(hand_made.original("python"))
        and task.instance == bug.id
    )
    assert sorted(task.fail_to_pass) == sorted(ODD) and task.pass_to_pass == bug.pass_to_pass
    assert task.extra["hidden"] == bug.hidden and task.extra["seconds"] == 30.0
    assert task.archive is not None and task.archive.name == "original.tar.gz" and task.statement


def test_a_second_order_bug_is_its_parent_and_a_failed_attempt(tmp_path: Path) -> None:
    """Its repair undoes the attempt, then the bug; it comes back with its lineage."""
    parent = pools.bug(ARTIFACT)
    run = pools.pool(tmp_path / "run", hand_made.original("python"), [(parent, ARTIFACT)])
    child = load_bug(pools.promoted(run, parent, "child") / "bugs" / "child")
    done = run_export(ExportOrder((run,), tmp_path / "out", choice=BugSelection(min_order=2)))
    assert done.splits == {"train": 1} and done.left_out == {"of another order": 1}
    (row,) = read_rows(tmp_path / "out")
    assert (row.values["ssr_order"], row.values["ssr_parent_id"]) == (2, f"selfplay__{parent.id}")
    gone = patches.deletion("new.py", "x = 1\n")
    assert set(row.values["patch"].splitlines()) >= {line for line in gone.splitlines() if line[:1] in "+-"}
    assert set(patches.touched_paths(row.values["patch"])) == {"new.py", *patches.touched_paths(ARTIFACT.bug_inject)}
    came = bug_of(task_of(row), "child", child.tree_hash)
    assert (came.order, came.parent, came.root) == (2, parent.id, parent.id)
    assert came.attempt is not None and child.attempt is not None and came.attempt.sha256 == child.attempt.sha256
