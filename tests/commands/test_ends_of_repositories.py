"""Whose fault it is that a repository of a list gave no bugs, and when the list ends."""

from pathlib import Path

import pytest

from selfplay.agent.model import ModelError
from selfplay.artifact import ArtifactError
from selfplay.commands.curricula import IN_A_ROW, Ends
from selfplay.commands.order import Order
from selfplay.curriculum import open_curriculum
from selfplay.oracle.errors import OracleError
from selfplay.repository.errors import CacheError, RepositoryError
from selfplay.rollout.retries import RolloutError
from selfplay.sandbox import InsideError, MachineError
from selfplay.sandbox.retry import LimitMet, StillLost
from selfplay.scripted.injector.survey import SurveyFailed


@pytest.mark.parametrize(
    ("error", "its_own"),
    [
        (RepositoryError("no tests"), True),
        (CacheError("the cache folder cannot be used: No space left on device"), False),
        (LimitMet("a sandbox met its limits 2 times: it opened more than 2048 sockets"), True),
        (StillLost("8 sandboxes in a row failed: the sandbox died"), False),
        (MachineError("no sandbox"), False),
        (InsideError("the sandbox's disk is full: writing /tmp/suite.sh"), True),
        (SurveyFailed("its suite cannot be run under coverage"), True),
        (OracleError("its test files hold more than 64 MiB"), True),
        (ArtifactError("odd"), True),
        (RolloutError("8 sandboxes in a row failed"), False),
        (ModelError("no answer"), False),
        (TypeError("nobody foresaw it"), False),
    ],
)
def test_only_what_is_not_the_repositorys_own_ends_a_list(error: Exception, its_own: bool, tmp_path: Path) -> None:
    said: list[str] = []
    with open_curriculum(tmp_path / "run") as pool:
        ends = Ends(pool, said.append)
        for turn in range(1, IN_A_ROW + 1):
            if turn == IN_A_ROW and not its_own:
                with pytest.raises(type(error)):
                    ends.failed(Order(f"source{turn}", tmp_path), error)
            else:
                ends.failed(Order(f"source{turn}", tmp_path), error)
    assert len(said) == IN_A_ROW and all("is skipped" in one for one in said)
