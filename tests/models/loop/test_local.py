"""The trainer in the process of the run."""

import asyncio
import threading
import time

from selfplay.commands.training.local import OneThread


def test_all_work_of_a_trainer_is_done_in_one_thread() -> None:
    """Each thread has a heap that keeps what was freed in it, so a second thread would double the memory."""

    async def idents() -> set[int]:
        thread = OneThread()
        return {*await asyncio.gather(*(thread.run(ident, at / 100) for at in range(4))), await thread.run(ident, 0.0)}

    assert len(asyncio.run(idents())) == 1


def ident(seconds: float) -> int:
    time.sleep(seconds)
    return threading.get_ident()
