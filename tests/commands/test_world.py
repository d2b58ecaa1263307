"""`selfplay world`, and `selfplay grade --world` of what an agent left there, who may have changed all of it."""

import os
import shlex
from pathlib import Path

import pytest
from commands.solved_runs import pair
from repository_fixtures import git, write
from run_fixtures import Command

from selfplay import patches
from selfplay.artifact import load

__all__ = ["pair"]

pytestmark = pytest.mark.slow  # a whole run, whose bugs are graded


@pytest.fixture
def bug(pair: Path) -> Path:
    return min((pair / "bugs").iterdir())


@pytest.fixture
def world(selfplay: Command, bug: Path, tmp_path: Path) -> Path:
    done = selfplay("world", bug, "--out", tmp_path / "world", "--json")
    assert done.code == 0, done.err
    assert done.json["hand_in"] == f"selfplay grade {shlex.quote(str(bug))} --world {tmp_path / 'world'}"
    return tmp_path / "world"


def repair(bug: Path, world: Path) -> None:
    write(world, {"gold.diff": patches.reverse(load(bug).bug_inject)})
    git(world / "testbed", "apply", "../gold.diff")


def test_nothing_of_an_agents_git_folder_runs(selfplay: Command, bug: Path, world: Path, tmp_path: Path) -> None:
    assert sorted(path.name for path in world.iterdir()) == ["prompt.md", "testbed"], "no program that the host starts"
    tree = world / "testbed"
    repair(bug, world)
    trap = f"touch {tmp_path}/ran; false"
    for key in ("core.fsmonitor", "filter.evil.clean", "core.pager", "diff.external"):
        git(tree, "config", key, trap)
    write(tree, {".git/info/attributes": "* filter=evil\n", ".git/hooks/post-index-change": f"#!/bin/sh\n{trap}\n"})
    (tree / ".git" / "hooks" / "post-index-change").chmod(0o755)
    done = selfplay("grade", bug, "--world", world, "--json")
    assert done.code == 0 and done.json["resolved"], done.out + done.err
    assert not (tmp_path / "ran").exists()


def test_without_its_git_folder_and_untouched(selfplay: Command, bug: Path, world: Path) -> None:
    done = selfplay("grade", bug, "--world", world, "--json")
    assert done.code == 1 and done.json["reason"] == "empty"
    (world / "testbed" / ".git").rename(world / "gone")
    done = selfplay("grade", bug, "--world", world, "--json")
    assert done.code == 1 and done.json["reason"] == "empty"
    (world / "testbed" / "a\nb").write_text("x")
    done = selfplay("grade", bug, "--world", world, "--json")
    assert [one["path"] for one in done.json["left_out"]] == ["a\nb"]  # said nowhere: no diff holds such a name


def test_a_world_that_brings_in_the_hosts_files(selfplay: Command, bug: Path, world: Path, tmp_path: Path) -> None:
    secret = write(tmp_path, {"secret": "x = 1\n"}) / "secret"
    os.link(secret, world / "testbed" / "leak.py")
    done = selfplay("grade", bug, "--world", world, "--json")
    assert (done.code, done.json["reason"]) == (1, "unreadable")
    assert "'leak.py' has another name outside of it" in done.json["detail"]
    (world / "testbed").rename(world / "elsewhere")
    (world / "testbed").symlink_to("elsewhere")
    done = selfplay.here("grade", bug, "--world", world)
    assert done.code == 2 and "holds no folder testbed" in done.err


@pytest.mark.parametrize("left", ["deep", "sparse"])
def test_what_an_agent_left_so_that_it_cannot_be_read_is_its_own_doing(
    selfplay: Command, bug: Path, world: Path, left: str
) -> None:
    repair(bug, world)
    if left == "deep":
        (world / "testbed" / "/".join("d" * 101)).mkdir(parents=True)
    else:
        with (world / "testbed" / "big").open("wb") as file:
            file.truncate(5 << 30)
    done = selfplay("grade", bug, "--world", world, "--json")
    assert (done.code, done.json["reason"]) == (1, "unreadable"), done.out + done.err
    assert done.json["detail"].startswith("what was left cannot be copied: ") and "root" not in done.json["detail"]
