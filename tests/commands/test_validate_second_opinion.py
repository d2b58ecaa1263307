"""Bugs of real runs by two other judges: an artifact that is run by hand, and the naive checks."""

import json
import shutil
import subprocess
from pathlib import Path

import hand_made
import naive_checks
import pytest
from commands.finished_runs import first_bug, run
from run_fixtures import Command

from selfplay.artifact import load_bug
from selfplay.sandbox import Backend, World

__all__ = ["run"]


def by_hand(backend: Backend, world: World, tree: Path, folder: Path) -> dict[str, str]:
    """`bash test_script.sh | python test_parser.py`, typed by a person in a copy of the original."""
    hand_made.give(tree, backend)
    with backend.open(World(tree=(tree,), mounts=world.mounts, env=world.env)) as sandbox:
        for name in ("test_script.sh", "test_parser.py"):
            sandbox.write_file(f"/tmp/{name}", (folder / name).read_bytes())
        done = sandbox.run("bash /tmp/test_script.sh 2>&1 | python /tmp/test_parser.py", timeout=100)
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_an_artifact_runs_by_hand(
    backend: Backend, selfplay: Command, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from selfplay.repository import rebuild

    monkeypatch.setenv("SELFPLAY_CACHE", str(selfplay.cache))
    for folder in sorted((run / "bugs").iterdir())[:2]:
        bug = load_bug(folder)
        world = rebuild(run / "original", bug.environment, backend=backend).world()
        fine, broken, hidden = (tmp_path / f"{folder.name}-{n}" for n in "abc")
        for tree, diffs in ((fine, ()), (broken, ("bug_inject",)), (hidden, ("bug_inject", "test_weaken"))):
            shutil.copytree(run / "original", tree)
            for name in diffs:
                subprocess.run(["git", "apply", folder / f"{name}.diff"], cwd=tree, check=True, timeout=30)
        ids = {*bug.fail_to_pass, *bug.pass_to_pass}
        assert by_hand(backend, world, fine, folder) == dict.fromkeys(ids, "passed")
        seen = by_hand(backend, world, broken, folder)
        assert {test for test in ids if seen.get(test) != "passed"} == set(bug.fail_to_pass)
        left = by_hand(backend, world, hidden, folder)
        assert set(left.values()) == {"passed"} and set(bug.pass_to_pass) <= set(left)


def opinions_agree(backend: Backend, run: Path, folders: list[Path]) -> None:
    """The naive checks, which share no code with the product's, find every bug valid, with the same tests."""
    from selfplay.repository import rebuild

    for folder in folders:
        bug = load_bug(folder)
        world = rebuild(run / "original", bug.environment, backend=backend).world()
        found = naive_checks.opinion(run / "original", folder, *naive_checks.sandboxed(backend, world))
        assert (found.failed, found.reason) == (None, ""), bug.id
        assert found.fail_to_pass == set(bug.fail_to_pass) and found.pass_to_pass == set(bug.pass_to_pass), bug.id


@pytest.mark.slow
def test_a_second_opinion_agrees(
    backend: Backend, selfplay: Command, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SELFPLAY_CACHE", str(selfplay.cache))
    opinions_agree(backend, run, [first_bug(run)])


@pytest.mark.long
@pytest.mark.timeout(900)
def test_bugs_of_a_real_project_pass_a_second_opinion(
    backend: Backend, selfplay: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SELFPLAY_CACHE", str(selfplay.cache))
    done = selfplay("curriculum", "pypi:sqlparse==0.5.3", "--out", tmp_path, "--bugs", 4, "--releases", 4)
    assert done.code == 0, done.err
    folders = sorted((tmp_path / "bugs").iterdir())
    assert len(folders) == 4
    opinions_agree(backend, tmp_path, folders)
