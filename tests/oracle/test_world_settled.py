"""In a solver's world nothing but its text tells a file that the bug changed from the others."""

import os
from dataclasses import replace
from pathlib import Path

import hand_made
import pytest

from selfplay import patches
from selfplay.oracle.task import Task
from selfplay.oracle.world import open_world
from selfplay.sandbox import Backend, Limits, World

LISTED = """
import os
for here, folders, names in os.walk("."):
    if here != ".":
        print("d", here, os.lstat(here).st_size, len(folders) + len(names), sep="\\t")
    folders[:] = sorted(name for name in folders if name != ".git")
    for path in (os.path.join(here, name) for name in sorted(names)):
        one = os.lstat(path)
        rest = one.st_mtime_ns, one.st_dev, one.st_nlink, one.st_uid
        print("f", path[2:], one.st_ctime_ns, one.st_ino, *rest, sep="\\t")
"""


@pytest.fixture
def task(worlds: dict[str, World]) -> Task:
    return Task(worlds["python"], hand_made.artifact("python"))


def test_nothing_but_its_text_tells_a_changed_file_from_the_others(backend: Backend, task: Task) -> None:
    """Not its time, not its number, not the disk it is on: `ls -lt` would say where the bug is."""
    with open_world(backend, task) as world:
        said = world.sandbox.run([backend.python, "-I", "-c", LISTED], timeout=20).text.splitlines()
        index = world.sandbox.run("git ls-files --debug | grep -E 'ctime|mtime' | sort | uniq -c", timeout=20).text
    files, folders = ([line.split("\t")[1:] for line in said if line[0] == kind] for kind in "fd")
    assert all(int(size) == 20 * (2 + int(entries)) or int(size) % 4096 == 0 for _, size, entries in folders), folders
    changed = {*patches.touched_paths(task.artifact.bug_inject)} & {path for path, *_ in files}
    assert changed and len(files) > len(changed) + 4
    assert len({tuple(rest) for _, _, _, *rest in files}) == 1, files
    for column in (1, 2):  # when it was changed, and its number: in the order of the paths
        values = [int(file[column]) for file in files]
        assert values == sorted(values) or values == sorted(values, reverse=True), files
    assert "946684800" in index


def test_a_tree_without_room_for_a_copy_keeps_its_files_and_gets_one_time(
    backend: Backend, task: Task, tmp_path: Path
) -> None:
    limits = Limits(disk_bytes=4 << 20)
    (tmp_path / "large").write_bytes(b"large\n" * (1 << 20))
    os.utime(tmp_path / "large", (946684800, 946684800))
    tmp_path.chmod(0o755)
    for path in (tmp_path, tmp_path / "large"):
        os.chown(path, *backend.owner())  # type: ignore[attr-defined]
    filled = replace(task, world=replace(task.world, tree=(tmp_path, *task.world.tree)))
    with open_world(backend, filled, limits) as world:
        times = world.sandbox.run("find . -path ./.git -prune -o -type f -printf '%Ts\\n' | sort -u", timeout=20)
    assert times.text.split() == ["946684800"]
