"""Calibrations, made once and stored beside their bugs for every process that grades attempts. The result that a bug
cannot be graded is stored too.

The file has the secret names of the canary tests; it is on the host, in the bug's folder, which no sandbox sees. It
also has compiled code that takes part in grading, and may say that a defence does not work. So only a file by this user
is trusted: its first bytes are a seal over the rest (`trust.py`), checked before anything is parsed. A calibration of
another user or machine key is made again.
"""

import contextlib
import hashlib
import json
import logging
import re
from collections.abc import Sequence
from pathlib import Path

from selfplay.artifact.files import write_atomically
from selfplay.artifact.reading import UntrustedDataError, opened_below
from selfplay.curriculum.trust import seal, sealed
from selfplay.errors import SelfplayError
from selfplay.formatting import shortened
from selfplay.oracle import calibration
from selfplay.oracle.calibrate import calibrate
from selfplay.oracle.calibration import Calibration, CalibrationFailure, UnreadableCalibration
from selfplay.oracle.errors import OracleError
from selfplay.oracle.task import Oracle, Task
from selfplay.owned_folders import FolderOfAnother, refuse_place_of_another
from selfplay.plain_text import encode
from selfplay.sandbox import Backend, InsideError, Limits
from selfplay.sandbox.errors import as_lost

log = logging.getLogger(__name__)
CALIBRATION_FILE = "calibration.json"
REPORT = "Other bugs are graded. Please report this one, with what `selfplay --verbose` says of it."
MOST_BYTES = 256 * 1024 * 1024
_SEALED = re.compile(rb'\{"seal": "([0-9a-f]{64})", ')
_LENGTH = len('{"seal": "') + 64 + len('", ')
Stored = Calibration | CalibrationFailure

TRIES, BELIEVED = 2, 6
"""How often one call tries, and after how many failed tries of one bug no call tries again."""


def calibration_of(
    folder: Path,
    backend: Backend,
    task: Task,
    oracle: Oracle,
    limits: Limits = Limits(),
    *,
    counterfactual: bool = True,
) -> Calibration:
    """The calibration of the bug in `folder`: the stored one, or a new one, which is stored.

    Raises `OracleError` for a bug that cannot be graded, also if that result was stored often enough.
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
    """A calibration, or why there is none. `failed`: the tries of calls before. A failure ends this call if it happens
    twice, and is final after three calls: on a busy machine the tests of a sound bug may be too slow."""
    failure = CalibrationFailure("")
    for number in range(1, TRIES + 1):
        try:
            return calibrate(backend, task, oracle, limits, counterfactual=counterfactual)
        except (OracleError, InsideError) as error:
            failure = CalibrationFailure.of(error, failed + number)
        except (SelfplayError, OSError):
            raise
        except Exception as error:
            if lost := as_lost(error, "a bug could not be calibrated"):
                raise lost from error
            # Ours, or the repository's, which has what we cannot read: of the bug in any case, and not of the machine.
            log.warning("a bug could not be calibrated", exc_info=True)
            said = f"it cannot be calibrated: {type(error).__name__}: {shortened(str(error))}"
            failure = CalibrationFailure(said, REPORT, failed + number)
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
    """The stored calibration under this key; None if there is none or it cannot be read."""
    try:
        with opened_below(folder, CALIBRATION_FILE, MOST_BYTES) as stream:
            said = _SEALED.match(stream.read(_LENGTH))
            if said is None or not sealed(stream, said[1].decode()):
                return None  # before it takes memory
            stream.seek(0)
            stored = json.loads(stream.read(MOST_BYTES))
        return calibration.read_calibration(stored["calibration"]) if stored["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError, UntrustedDataError, UnreadableCalibration):
        return None


def write_calibration(folder: Path, key: str, value: Stored) -> Stored:
    """Store a calibration atomically and return what is stored: a too large one becomes a failure. If the folder cannot
    be written, or is another user's, who could read the names of its canary tests, the next process makes it again."""
    data = _packed(key, value)
    if len(data) > MOST_BYTES:
        value = CalibrationFailure(f"its calibration takes {len(data):,} bytes; the limit is {MOST_BYTES:,}")
        data = _packed(key, value)
    with contextlib.suppress(OSError, FolderOfAnother):
        refuse_place_of_another(folder)
        write_atomically(folder / CALIBRATION_FILE, data)
    return value


def _packed(key: str, value: Stored) -> bytes:
    rest = json.dumps({"key": key, "calibration": value.to_json()}).encode()[1:]
    return b'{"seal": "%s", ' % seal(rest).rjust(64).encode() + rest
