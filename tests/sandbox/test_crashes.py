"""A crash inside starts no program of the host's, whatever the shell's limit of core dumps is."""

import os
import resource
import subprocess
import sys

import pytest

from selfplay.sandbox import ulimits

STARTED = """
import resource
resource.setrlimit(resource.RLIMIT_CORE, ({hard}, {hard}))
from selfplay.sandbox import World, open_backend
with open_backend("bubblewrap").open(World()) as sandbox:
    print(sandbox.run("grep core /proc/self/limits", timeout=20).text)
"""


@pytest.mark.parametrize("hard", [0, 1 << 20])
def test_the_limit_inside_is_the_one_with_which_no_handler_is_started(hard: int) -> None:
    """At 0, which `ulimit -c 0` sets for both limits, the kernel starts a handler, as root; at 1 it does not."""
    if resource.getrlimit(resource.RLIMIT_CORE)[1] < 1:
        pytest.skip("the tests' own hard limit is 0")
    done = subprocess.run([sys.executable, "-c", STARTED.format(hard=hard)], capture_output=True, text=True)
    assert done.stdout.split()[4:6] == (["1", "1"] if os.geteuid() == 0 or hard else ["0", "0"]), done.stderr


def test_where_a_handler_is_started_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    held = "nothing is written, and no handler of the host's is started"
    monkeypatch.setattr(resource, "getrlimit", lambda what: (0, 0))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert ulimits.crashes("core") == held
    assert ulimits.crashes("|/usr/share/apport/apport").startswith("the host's handler is started: the hard limit")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert ulimits.crashes("|/usr/share/apport/apport") == held
