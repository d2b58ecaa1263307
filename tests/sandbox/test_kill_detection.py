"""Whose memory it was that ended a process, where no control group tells."""

from contextlib import closing
from pathlib import Path

import pytest
from repository_fixtures import write

from selfplay.sandbox import World, bubblewrap_sandbox, kill_detection
from selfplay.sandbox.bubblewrap import BubblewrapBackend
from selfplay.sandbox.kill_detection import kills_around

from .attacks import SMALL


@pytest.mark.parametrize("risen", [0, 1])
def test_without_a_control_group_the_kills_around_it_are_asked(monkeypatch: pytest.MonkeyPatch, risen: int) -> None:
    """The kernel takes the largest process of the machine; the idle one beside it, of one megabyte, always lives."""
    kills = iter([7, 7 + risen])
    monkeypatch.setattr(bubblewrap_sandbox, "kills_around", lambda: next(kills))
    with closing(BubblewrapBackend()) as backend, backend.open(World(), SMALL) as sandbox:
        monkeypatch.setattr(sandbox, "group", None)
        done = sandbox.run("kill -9 $$", timeout=10)
    assert done.was_killed and (done.killed_for_memory, done.over_memory) == (bool(risen), False)


@pytest.mark.parametrize(
    ("files", "kills"),
    [
        ({"sys/a/b/memory.events": "low 0\noom 9\noom_kill 3\n", "sys/a/memory.events": "oom_kill 8\n"}, 3),
        ({"sys/a/memory.events": "oom_kill 8\n"}, 8),  # the innermost that can be seen
        ({"sys/memory/a/b/memory.oom_control": "under_oom 0\noom_kill 4\n"}, 4),
        ({"proc/vmstat": "allocstall 1\noom_kill 5\n"}, 5),
        ({}, 0),
    ],
)
def test_kills_are_those_of_one_s_own_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], kills: int
) -> None:
    """A container that keeps dying of its own limit elsewhere ended every run on that machine."""
    write(tmp_path, {**files, "proc/self/cgroup": "0::/a/b\n4:memory:/a/b\n"})

    def moved(path: str) -> Path:
        return tmp_path / path.removeprefix("/").replace("sys/fs/cgroup", "sys", 1)

    monkeypatch.setattr(kill_detection, "Path", moved)
    monkeypatch.setattr(
        kill_detection,
        "kernel_text",
        lambda path: Path(moved(str(path)) if str(path)[:6] == "/proc/" else path).read_text(),
    )
    assert kills_around() == kills


def test_the_kernel_tells_how_many_it_has_killed() -> None:
    assert kills_around() >= 0
