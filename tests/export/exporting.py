"""Exports of a pool of three bugs."""

from pathlib import Path
from typing import Any

import hand_made
import pools
import pytest

from selfplay.commands.export import Exported, ExportOrder, run_export
from selfplay.export.formats import Form

ARTIFACT = hand_made.artifact("python")
ORIGINAL = hand_made.original("python")


def exported(run: Path, out: Path, form: Form = "swebench", **how: Any) -> Exported:
    return run_export(ExportOrder((run,), out, form, **how))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return pools.pool(tmp_path / "run", ORIGINAL, pools.numbered(ARTIFACT, 3))
