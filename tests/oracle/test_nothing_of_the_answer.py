"""Where a prediction runs, nothing tells the answer: not the original, not what it was compiled to."""

import compileall
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import hand_made
import pytest
from exploits.conftest import lab as lab
from exploits.projects import Lab

from selfplay.oracle.trial import TrialOrder, run_trial
from selfplay.sandbox import Backend, World

LOST = "nobody to share with"
"""A text that the bug took out of the program; the tests do not hold it."""
READER = f"""#!/bin/bash
for top in /*; do
  case "$top" in /usr|/bin|/sbin|/lib*|/proc|/sys|/dev) continue ;; esac
  grep -rlsaF -e {LOST[:6]}'{LOST[6:]}' "$top"
  find "$top" -path '*ledger*' -name 'money*.pyc' 2>/dev/null
done
echo searched
"""
"""A plain recursive reader, as the sandbox's own user. The system's folders, which no run writes to, are left out."""


@pytest.fixture
def compiled(lab: Callable[[str], Lab], tmp_path: Path, backend: Backend) -> World:
    """The world of the ledger with its original's compiled forms as a layer, as a real repository has it."""
    world = lab("python").task.world
    tree = Path(shutil.copytree(world.tree[0], tmp_path / "compiled"))
    compileall.compile_dir(tree / "ledger", quiet=2)
    for file in tree.rglob("*"):
        if file.is_file() and file.suffix != ".pyc":
            file.unlink()
    hand_made.give(tree, backend)
    return replace(world, tree=(*world.tree, tree))


@pytest.mark.slow
@pytest.mark.parametrize("fixed", [False, True], ids=["the world as it is given", "with a prediction"])
def test_a_reader_in_the_grading_sandbox_finds_nothing(
    lab: Callable[[str], Lab], compiled: World, backend: Backend, fixed: bool
) -> None:
    here = lab("python")
    other = here.diff(lambda root: (root / "ledger" / "money.py").write_text("def share(a, b): ...\n")).decode()
    diffs = (*here.task.diffs, other) if fixed else here.task.diffs
    artifact = replace(here.artifact, test_script=READER)
    known = here._grader.calibration
    assert known.impossible is not None and known.behaviour is not None
    for files in (known.made.files, known.impossible.files, known.behaviour.files):
        trial = run_trial(backend, compiled, artifact, TrialOrder(diffs, 60.0, files=files))
        assert trial.log.decode().split() == ["searched"], trial.log


def test_the_reader_finds_what_is_there(lab: Callable[[str], Lab], compiled: World, backend: Backend) -> None:
    artifact = replace(lab("python").artifact, test_script=READER)
    found = run_trial(backend, compiled, artifact, TrialOrder((), 60.0)).log.decode()
    assert "/testbed/ledger/money.py" in found and ".pyc" in found


@pytest.mark.slow
def test_test_files_are_restored_from_outside_whatever_stands_in_their_place(
    lab: Callable[[str], Lab], backend: Backend
) -> None:
    here = lab("python")

    def hide(root: Path) -> None:
        shutil.rmtree(root / "tests")
        (root / "tests").symlink_to("ledger")

    artifact = replace(here.artifact, test_script="#!/bin/bash\nsha256sum tests/*.py; readlink tests\n")
    plain, hidden = (
        run_trial(backend, here.task.world, artifact, TrialOrder(diffs, 20.0)).log
        for diffs in ((), (*here.task.diffs, here.diff(hide).decode()))
    )
    assert hidden == plain and hidden.count(b".py") == 2
