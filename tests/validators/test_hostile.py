"""Tests and scripts that misbehave end in a clear verdict, in bounded time, and leave the workbench usable."""

from dataclasses import replace

import hand_made
import pytest

from selfplay.sandbox import MIB, Limits
from selfplay.validators import Thresholds, validate

CONNECT = (
    "if python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 80), 3)' 2>/dev/null; "
    "then echo PASS: reaches the network; else echo FAIL: reaches the network; fi\n"
)
# script -> the checks that may say no, and what the verdict must say
HOSTILE = {
    "hangs": ("sleep 1000 & wait\n", {"test_script"}, "does not end within 2 s"),
    "ignores signals": (
        "trap '' TERM INT HUP; while :; do sleep 1; done\n",
        {"test_script"},
        "does not end within 2 s",
    ),
    "forks": (":(){ :|:& };: ; sleep 1\n", {"parser", "test_script"}, "test"),
    "floods": ("yes\n", {"test_script"}, "does not end within 2 s"),
    "fills the disk": ("head -c 3G /dev/zero >big; make -s check\n", {"parser"}, "found no test"),
    "fills the memory": ("python3 -c 'x = bytearray(8 << 30)' || echo FAIL: memory\n", {"test_script"}, "'memory'"),
    "opens the network": (CONNECT, {"test_script"}, "'reaches the network'"),
    "deletes the tree": ("rm -rf /testbed/* ; make -s check\n", {"parser"}, "found no test"),
    "deletes everything": (
        "rm -rf --no-preserve-root / 2>/dev/null; make -s check\n",
        {"parser", "test_script"},
        "test",
    ),
    "kills everything": ("kill -9 -1; kill -9 1\n", {"parser", "test_script"}, "test"),
    "rewrites its script": ("echo 'echo PASS: x' >/oracle/test_script.sh && echo FAIL: wrote\n", {"parser"}, "no test"),
}


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.slow
def test_hostile_script(what, bench):
    script, checks, says = HOSTILE[what]
    artifact = replace(hand_made.artifact("c"), test_script=script)
    limits = Limits(memory_bytes=256 * MIB, disk_bytes=64 * MIB, processes=64)
    place = bench("c", artifact, time_limit=2.0, limits=limits)
    result = validate(artifact, place, Thresholds(seconds=2.0))
    assert not result.valid
    assert result.verdicts[-1].check in checks, result.reason
    assert says in result.reason
    assert "\n" not in result.reason
    assert result.seconds < 30


@pytest.mark.slow
def test_a_test_that_leaves_processes_behind_is_harmless(bench):
    valid = hand_made.artifact("c")
    artifact = replace(valid, test_script="(setsid sleep 1000 >/dev/null 2>&1 &) \n" + valid.test_script)
    result = validate(artifact, bench("c", artifact, time_limit=20.0), Thresholds(seconds=20.0))
    assert result.valid, result.reason
    assert result.seconds < 20
