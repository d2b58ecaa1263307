"""The trainer's ranks as they are started: one that dies then is started again, and not for ever."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
import ray

from selfplay.cluster.actor_calls import FAILURES
from selfplay.cluster.errors import ClusterError
from selfplay.cluster.ray_session import joined
from selfplay.cluster.trainer import RemoteLearner
from selfplay.loop.machine import Cluster


class Dying:
    """A rank whose process dies as it is opened, the first `times` times; its deaths are lines of a file."""

    def __init__(self, deaths: str, times: int) -> None:
        self._deaths, self._times = Path(deaths), times

    def meeting_place(self) -> tuple[str, int]:
        return "", 0

    def open(self, make: Any, meeting: Any) -> int:
        died = self._deaths.read_text().count("\n") if self._deaths.exists() else 0
        if died < self._times:
            self._deaths.write_text("died\n" * (died + 1))
            os._exit(1)
        return 7

    def facts(self) -> list[Any]:
        return []


def learner(deaths: Path, times: int) -> RemoteLearner:
    return RemoteLearner(lambda rank: ray.remote(Dying).options(num_cpus=0).remote(str(deaths), times), lambda: None, 1)  # type: ignore[arg-type,return-value]


@pytest.mark.slow
def test_a_rank_that_dies_as_it_is_started_is_started_again(tmp_path: Path) -> None:
    once, always = tmp_path / "once", tmp_path / "always"
    with joined(Cluster(), None):
        found = learner(once, 1)
        asyncio.run(found.open())
        assert found.version == 7 and once.read_text() == "died\n"
        with pytest.raises(ClusterError, match="the trainer cannot be started"):
            asyncio.run(learner(always, 99).open())
        assert always.read_text() == "died\n" * FAILURES
