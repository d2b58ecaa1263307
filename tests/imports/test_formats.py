"""A row of any format that is exported here reads back as the task it was made of."""

from pathlib import Path

import hand_made
import pools
import pytest

from selfplay.commands.export import ExportOrder, Form, run_export
from selfplay.imports.rows import read_rows
from selfplay.imports.tasks import task_of

ARTIFACT = hand_made.artifact("python")
ODD = ("tests/test_a.py::test_x[a  b]", "tests/test_a.py::test_x[é - 50%25]", "tests/test_a.py::test_[[")


@pytest.mark.parametrize("form", ["swebench", "swesmith", "r2e", "harbor", "hf"])
def test_a_task_survives_the_way_out_and_in(tmp_path: Path, form: Form) -> None:
    bug = pools.bug(ARTIFACT, fail_to_pass=ODD, pass_to_pass=("tests/test_a.py::test_well",), hidden=ODD[:1])
    run = pools.pool(tmp_path / "run", hand_made.original("python"), [(bug, ARTIFACT)])
    run_export(ExportOrder((run,), tmp_path / "out", form))
    (row,) = read_rows(tmp_path / "out")
    task = task_of(row)
    assert task.artifact == ARTIFACT and task.tree_hash == bug.tree_hash and task.instance == bug.id
    assert sorted(task.fail_to_pass) == sorted(ODD) and task.pass_to_pass == bug.pass_to_pass
    assert task.extra["hidden"] == bug.hidden and task.extra["seconds"] == 30.0
    assert task.archive is not None and task.archive.name == "original.tar.gz" and task.statement
