"""What the kernel's files say of a group, as both versions write them."""

from pathlib import Path

import pytest

from selfplay.sandbox.cgroups import ControlGroup

EVENTS = "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\n"
CONTROL = "oom_kill_disable 0\nunder_oom 1\noom_kill 7\n"


@pytest.mark.parametrize(
    ("name", "text", "kills", "met"),
    [("memory.events", EVENTS, 5, 4), ("memory.oom_control", CONTROL, 7, 0), ("other", EVENTS, 0, 0)],
)
def test_kills_and_limits_are_counted(tmp_path: Path, name: str, text: str, kills: int, met: int) -> None:
    """Version 1 does not say how often the limit was met."""
    (tmp_path / "pids").mkdir()
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / name).write_text(text)
    group = ControlGroup((tmp_path / "pids", tmp_path / "memory"), ())
    assert (group.memory_kills(), group.limits_met()) == (kills, met)


def test_a_limit_is_met_where_the_peak_comes_near_it(tmp_path: Path) -> None:
    for name, number in (("limit", 256 << 20), ("max_usage", 100 << 20)):
        (tmp_path / f"memory.{name}_in_bytes").write_text(f"{number}\n")
    group = ControlGroup((tmp_path,), ())
    assert not group.met_memory_limit(0)
    (tmp_path / "memory.max_usage_in_bytes").write_text(f"{256 << 20}\n")
    assert group.met_memory_limit(0)
    group.forget_peak()
    assert not group.met_memory_limit(0)
