"""Bounds on the checkpoints of a run that somebody shared, before anything of it is loaded."""

from pathlib import Path

from selfplay.artifact.reading import MIB
from selfplay.curriculum.trust import is_own, times
from selfplay.curriculum.untrusted_sqlite import LARGER
from selfplay.loop.errors import TrainingError

DESCRIPTION = ".metadata"
MOST_DESCRIPTION = MIB
"""Bytes of what describes the tensors of a checkpoint; reading may take 140 bytes of memory for each."""


def refuse_large_descriptions(run: Path) -> None:
    """Raises `TrainingError` for a larger one in a run, or a result of `sft`, that this user did not make."""
    if is_own(run):
        return
    most = MOST_DESCRIPTION * times()
    for folder in ("checkpoints", "within", "epochs"):
        for path in (run / folder).rglob(DESCRIPTION):
            if (size := path.lstat().st_size) > most:
                raise TrainingError(f"{path} is {size} bytes; a shared run may have {most}", LARGER)
