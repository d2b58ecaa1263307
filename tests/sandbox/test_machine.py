"""What this machine has for sandboxes."""

from pathlib import Path

import pytest

from selfplay.sandbox.machine import own_groups


@pytest.mark.parametrize(
    ("listed", "folders"),
    [
        ("0::/\n", ["/g"]),
        ("0::/user.slice/run.scope\n", ["/g", "/g/user.slice", "/g/user.slice/run.scope"]),
        ("5:cpu,cpuacct:/a\n4:memory:/docker/x\n0::/\n", ["/g/memory", "/g/memory/docker", "/g/memory/docker/x", "/g"]),
        ("4:memory:/../..\n", ["/g/memory"]),
        ("", []),
    ],
)
def test_every_group_around_this_process_counts(listed: str, folders: list[str]) -> None:
    """Only the outermost was read, and a sandbox could be promised more than a scope of systemd has."""
    assert [str(one) for one in own_groups(listed, Path("/g"))] == folders
