"""Calibrations, made once and kept beside their bugs for every process that grades attempts at them. The result that a
bug cannot be graded is kept too.

The file holds the secret names of the canary tests: it lies on the host, in the bug's folder, which no sandbox sees. It
also holds compiled code that takes part in grading, and it may say that a defence does not work. So only one that this
user made is believed: its first bytes are a seal over the rest (`trust.py`), looked at before anything is parsed. What
comes with a stranger's run, or was made on a machine with another key, is made again.
"""

import contextlib
import hashlib
import json
import re
from collections.abc import Sequence
from pathlib import Path

from selfplay.artifact.files import write_atomically
from selfplay.artifact.reading import UntrustedDataError, read_below
from selfplay.curriculum.trust import seal, sealed
from selfplay.oracle import calibration
from selfplay.oracle.calibrate import calibrate
from selfplay.oracle.calibration import Calibration, CalibrationFailure, Oracle, UnreadableCalibration
from selfplay.oracle.errors import OracleError
from selfplay.oracle.world import Task
from selfplay.plain_text import encode
from selfplay.sandbox import Backend, Limits

CALIBRATION_FILE = "calibration.json"
MOST_BYTES = 256 * 1024 * 1024
_SEALED = re.compile(rb'\{"seal": "([0-9a-f]{64})", ')
_LENGTH = len('{"seal": "') + 64 + len('", ')
Stored = Calibration | CalibrationFailure

TRIES, BELIEVED = 2, 6
"""How often one call tries, and after how many failed tries of one bug no call tries any more."""


def calibration_of(
    folder: Path,
    backend: Backend,
    task: Task,
    oracle: Oracle,
    limits: Limits = Limits(),
    *,
    counterfactual: bool = True,
) -> Calibration:
    """The calibration of the bug in `folder`: the stored one, or a new one, which is then stored.

    Raises `OracleError` for a bug that cannot be graded, also when that result was stored, often enough.
    """
    key = calibration_key(task, oracle, limits, backend)
    found, failed = read_calibration(folder, key), 0
    if isinstance(found, CalibrationFailure) and found.tries is not None and found.tries < BELIEVED:
        failed, found = found.tries, None
    if found is None or (counterfactual and isinstance(found, Calibration) and found.impossible is None):
        found = write_calibration(folder, key, _made(backend, task, oracle, limits, counterfactual, failed))
    if isinstance(found, CalibrationFailure):
        raise found.error()
    return found


def _made(
    backend: Backend, task: Task, oracle: Oracle, limits: Limits, counterfactual: bool, failed: int
) -> Calibration | CalibrationFailure:
    """A calibration, or why there is none. `failed`: the tries of calls before. A failure ends this call when it comes
    twice, and is final when it came to three calls: on a busy machine the tests of a sound bug may be too slow, and
    what is believed stays."""
    failure = CalibrationFailure("")
    for number in range(1, TRIES + 1):
        try:
            return calibrate(backend, task, oracle, limits, counterfactual=counterfactual)
        except OracleError as error:
            failure = CalibrationFailure.of(error, failed + number)
    return failure


def calibration_key(task: Task, oracle: Oracle, limits: Limits, backend: Backend) -> str:
    """SHA-256 of everything a calibration depends on, except the version of its format."""
    artifact, world = task.artifact, task.world
    parts: Sequence[object] = (
        artifact.content_hash(), task.extra, sorted(oracle.fail_to_pass), sorted(oracle.pass_to_pass), oracle.seconds,
        vars(limits), backend.name, backend.image_id, world.tree, world.mounts, sorted(world.env.items()),
    )  # fmt: skip
    return hashlib.sha256(encode(repr(parts))).hexdigest()


def read_calibration(folder: Path, key: str) -> Stored | None:
    """What was stored in a bug's folder under this key; None when there is nothing, or it cannot be read."""
    try:
        data = read_below(folder, CALIBRATION_FILE, MOST_BYTES)
        said, rest = _SEALED.match(data), memoryview(data)[_LENGTH:]
        if said is None or not sealed(rest, said[1].decode()):
            return None
        stored = json.loads(data)
        return calibration.read_calibration(stored["calibration"]) if stored["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError, UntrustedDataError, UnreadableCalibration):
        return None


def write_calibration(folder: Path, key: str, value: Stored) -> Stored:
    """Store it, atomically, and return what is stored: a value too large to be read again is a failure. A folder that
    cannot be written stays without one, and the next process makes it again."""
    data = _packed(key, value)
    if len(data) > MOST_BYTES:
        value = CalibrationFailure(f"its calibration takes {len(data):,} bytes, and {MOST_BYTES:,} are the most")
        data = _packed(key, value)
    with contextlib.suppress(OSError):
        write_atomically(folder / CALIBRATION_FILE, data)
    return value


def _packed(key: str, value: Stored) -> bytes:
    rest = json.dumps({"key": key, "calibration": value.to_json()}).encode()[1:]
    return b'{"seal": "%s", ' % seal(rest).rjust(64).encode() + rest
