"""Calibrations kept beside their bugs, for every process that grades attempts at them.

The file holds the secret names of added tests: it lies on the host, in the bug's folder, which no sandbox sees.
"""

import contextlib
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from selfplay.artifact.files import write_atomically
from selfplay.oracle import calibration
from selfplay.oracle.calibration import Calibration, CalibrationFailure, Oracle, UnreadableCalibration
from selfplay.oracle.world import Task
from selfplay.plain import encode
from selfplay.sandbox import Backend, Limits

CALIBRATION_FILE = "calibration.json"
MOST_BYTES = 256 * 1024 * 1024
Stored = Calibration | CalibrationFailure


def calibration_key(task: Task, oracle: Oracle, limits: Limits, backend: Backend) -> str:
    """SHA-256 of what a calibration depends on, beside the version of its format."""
    artifact, world = task.artifact, task.world
    parts: Sequence[object] = (
        artifact.content_hash(), task.extra, sorted(oracle.fail_to_pass), sorted(oracle.pass_to_pass), oracle.seconds,
        vars(limits), backend.name, backend.image_id, world.tree, world.mounts, sorted(world.env.items()),
    )  # fmt: skip
    return hashlib.sha256(encode(repr(parts))).hexdigest()


def read_calibration(folder: Path, key: str) -> Stored | None:
    """What was stored in a bug's folder under this key; None where nothing was, or nothing that can be read."""
    path = folder / CALIBRATION_FILE
    try:
        if path.stat().st_size > MOST_BYTES:
            return None
        stored = json.loads(path.read_bytes())
        return calibration.read_calibration(stored["calibration"]) if stored["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError, UnreadableCalibration):
        return None


def write_calibration(folder: Path, key: str, value: Stored) -> None:
    """Store it, atomically. In a folder that cannot be written to it is not stored, and made anew by the next."""
    data = json.dumps({"key": key, "calibration": value.to_json()}).encode()
    with contextlib.suppress(OSError):
        write_atomically(folder / CALIBRATION_FILE, data)
