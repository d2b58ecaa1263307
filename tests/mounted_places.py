"""Places that refuse: read-only, full, somebody else's. Root may write anywhere, so they are file systems of their own,
in a mount namespace that ends with the command."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from run_fixtures import Command, Done


@dataclass(frozen=True)
class Mounted:
    """The `selfplay` command beside a tmpfs mounted at `place` with these options, `fill` run in it before."""

    command: Command
    place: Path
    options: str
    fill: str = "true"

    def __call__(self, *arguments: object) -> Done:
        script = f'mount -t tmpfs -o {self.options} tmpfs "$0" && (cd "$0" && {self.fill}) && exec "$@"'
        inside = ("unshare", *(() if os.geteuid() == 0 else ("--map-root-user",)), "--mount")
        shell = ("sh", "-c", script, str(self.place))
        argv = (*inside, *shell, sys.executable, "-m", "selfplay", *map(str, arguments))
        return ended(argv, self.command)


def ended(argv: Sequence[str], command: Command) -> Done:
    env = {**os.environ, "SELFPLAY_CACHE": str(command.cache), "COLUMNS": "200", "NO_COLOR": "1"}
    done = subprocess.run(argv, capture_output=True, text=True, timeout=200, env=env)
    return Done(done.returncode, done.stdout, done.stderr)


def mounted(command: Command, place: Path, options: str, fill: str = "true") -> Mounted:
    """Such a place, or the test is skipped where nobody may mount."""
    place.mkdir(exist_ok=True)
    probe = ("unshare", *(() if os.geteuid() == 0 else ("--map-root-user",)), "--mount", "mount", "-t", "tmpfs")
    if shutil.which("unshare") is None or subprocess.run([*probe, "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    return Mounted(command, place, options, fill)
