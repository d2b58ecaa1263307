"""Where a model's episodes are played: the collector is left as it was found, whatever happens on the stage."""

import gc
from contextlib import closing
from typing import Any

import pytest

from selfplay.policies.loop import LoopThread
from selfplay.rollout.stage import COLLECT, LoopStage


def test_the_collector_runs_seldom_on_stage_and_as_before_after_it() -> None:
    before = gc.get_threshold()

    async def work(hands: Any) -> tuple[int, int, int]:
        return await hands.work(gc.get_threshold)

    with closing(LoopThread()) as loop:
        with LoopStage(loop, 2, 1) as stage:
            assert stage.start(work).result(timeout=10) == COLLECT
        assert gc.get_threshold() == before
        with pytest.raises(KeyboardInterrupt), LoopStage(loop, 2, 1):
            raise KeyboardInterrupt
        assert gc.get_threshold() == before
