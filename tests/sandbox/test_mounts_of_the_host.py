"""What the host has mounted is no part of a sandbox, but for the system that it shows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from selfplay.sandbox import Backend, World

PLACE = Path("/proc/sys/fs/binfmt_misc")
"""The one folder of these in which the kernel lets something be mounted without hiding a setting."""
PROGRAM = f"""
from selfplay.sandbox import World
from selfplay.sandbox.bubblewrap import BubblewrapBackend
backend = BubblewrapBackend()
try:
    with backend.open(World()) as sandbox:
        print(sandbox.run("ls -A {PLACE}; echo; cat {PLACE}/told; touch {PLACE}/new", timeout=20).text)
finally:
    backend.close()
"""


@pytest.mark.skipif(os.geteuid() != 0 or not PLACE.is_dir(), reason="only root may mount, and only there")
def test_what_is_mounted_among_the_kernels_settings_is_not_shown() -> None:
    """They are bound with all that is mounted in them: systemd has an automount there, for which whoever looks has the
    host mount something."""
    mounting = f'mount --make-rprivate / && mount -t tmpfs none {PLACE} && echo of the host > {PLACE}/told && exec "$@"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", mounting, "sh", sys.executable, "-c", PROGRAM],
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "told: No such file" in done.stdout and "of the host" not in done.stdout and "Read-only" in done.stdout
    assert done.stdout.startswith("\n")


def test_nobody_sets_the_times_of_the_hosts_devices(backend: Backend) -> None:
    before = Path("/dev/full").stat().st_mtime_ns
    with backend.open(World()) as sandbox:
        sandbox.run("touch /dev/full", timeout=20)
        assert sandbox.run("echo x >/dev/null && head -c 3 /dev/zero | wc -c", timeout=20).stdout == b"3\n"
    assert Path("/dev/full").stat().st_mtime_ns == before
