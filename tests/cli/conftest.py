import shutil
from pathlib import Path

import pytest
from run_fixtures import Done, calibrated, finished, selfplay, shop, together

from selfplay.curriculum import Attempt, AttemptFigures, open_curriculum

__all__ = ["calibrated", "finished", "selfplay", "shop", "together"]


@pytest.fixture
def run(finished: tuple[Path, Done], tmp_path: Path) -> Path:
    """A copy of a finished run of four bugs."""
    return Path(shutil.copytree(finished[0], tmp_path / "run"))


@pytest.fixture
def attempted(run: Path) -> Path:
    """The same after three attempts of `searcher` at its first bug, of which one is resolved, and the gold control."""
    with open_curriculum(run) as pool:
        bug = pool.bugs()[0].id
        for number, resolved in enumerate((True, False, False)):
            pool.attempts.add(Attempt(bug, "searcher", number, resolved, "reason", "", "", AttemptFigures(seconds=1.0)))
        pool.attempts.add(Attempt(bug, "gold", 0, True, "resolved", "", "", AttemptFigures(seconds=1.0)))
    return run
