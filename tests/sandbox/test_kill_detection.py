"""Whose memory it was that ended a process, where no control group tells."""

from contextlib import closing
from pathlib import Path

import pytest

from selfplay.sandbox import World, bubblewrap_sandbox
from selfplay.sandbox.bubblewrap import BubblewrapBackend
from selfplay.sandbox.kill_detection import machine_kills

from .attacks import SMALL


@pytest.mark.parametrize("risen", [0, 1])
def test_without_a_control_group_the_kills_of_the_machine_are_asked(
    monkeypatch: pytest.MonkeyPatch, risen: int
) -> None:
    """The kernel takes the largest process of the machine; the idle one beside it, of one megabyte, always lives."""
    kills = iter([7, 7 + risen])
    monkeypatch.setattr(bubblewrap_sandbox, "machine_kills", lambda: next(kills))
    with closing(BubblewrapBackend()) as backend, backend.open(World(), SMALL) as sandbox:
        monkeypatch.setattr(sandbox, "group", None)
        done = sandbox.run("kill -9 $$", timeout=10)
    assert done.was_killed and (done.killed_for_memory, done.over_memory) == (bool(risen), False)


def test_the_kernel_tells_how_many_it_has_killed() -> None:
    told = next(line for line in Path("/proc/vmstat").read_text().splitlines() if line.startswith("oom_kill "))
    assert machine_kills() >= int(told.split()[1])
