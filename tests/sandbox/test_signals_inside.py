"""How the supervisor was started says nothing inside: no signal is ignored or blocked, no key held, no place kept."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from selfplay.sandbox import Backend, World
from selfplay.sandbox.command_start import FIRST, Beginning

LOOK = """
import signal
from selfplay.sandbox import World, open_backend
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGALRM, signal.SIGTERM})
backend = open_backend("bubblewrap")
with backend.open(World()) as sandbox:
    print(sandbox.run("grep -E '^Sig(Ign|Blk)' /proc/self/status", timeout=20).text)
    print(sandbox.run(["grep", "-E", "^Sig(Ign|Blk)", "/proc/self/status"], timeout=20).text)
"""
RESERVED = 3 << 31
"""Numbers 32 and 33 are the C library's own, and no program can name them."""


@pytest.mark.slow
def test_no_signal_is_ignored_or_blocked_inside() -> None:
    """As under `nohup`: a test that ends a child by SIGHUP failed there, and its file was left out for good."""
    names = " ".join(one.name.removeprefix("SIG") for one in (signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR2))
    shell = f"trap '' {names}; exec {sys.executable} -c \"$0\""
    done = subprocess.run(["sh", "-c", shell, LOOK], capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines() if line]
    assert len(lines) == 4
    assert {name: int(mask, 16) & ~RESERVED for name, mask in lines} == {"SigIgn:": 0, "SigBlk:": 0}


@pytest.mark.parametrize(("usual", "first"), [(b"0", FIRST), (b"200", FIRST), (b"900", 900)])
def test_a_place_in_the_queue_of_the_killer_is_given_back_as_it_was(usual: bytes, first: int, tmp_path: Path) -> None:
    """The kernel lets nobody go below what root set for a desktop's session."""
    file = tmp_path / "oom_score_adj"
    file.write_bytes(usual + b"\n")
    written: list[bytes] = []
    descriptor = os.open(file, os.O_RDWR)
    beginning = Beginning(descriptor, ())
    beginning.spawn = lambda *_: written.append(file.read_bytes()) or 7  # type: ignore[method-assign]
    assert beginning.start([b"true"], {}, b"/", (0, 1, 2)) == 7
    os.close(descriptor)
    assert written[0].startswith(b"%d" % first)
    assert int(file.read_bytes()) == int(usual)


@pytest.mark.skipif(os.geteuid() == 0, reason="root's sandboxes have a uid without keys")
def test_an_ordinary_user_s_keys_are_not_seen(backend: Backend) -> None:
    with backend.open(World()) as sandbox:
        assert sandbox.run("cat /proc/keys", timeout=10).exit_code != 0
