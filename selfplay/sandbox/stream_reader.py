"""The output of one command as a readable stream: the supervisor's side, which requests piece after piece from the
agent."""

import io
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from selfplay.sandbox import messages
from selfplay.sandbox.agent_requests import not_run
from selfplay.sandbox.errors import InsideError, SandboxError
from selfplay.sandbox.kill_detection import ProgramKilled, undisturbed
from selfplay.sandbox.protocol import Completed

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

SHOWN = 2000
Exchange = Callable[[bytes], list[bytes]]
Ended = Callable[[list[bytes]], Completed]


@contextmanager
def reading(argv: list[str], request: bytes, exchange: Exchange, ended: Ended) -> Iterator[IO[bytes]]:
    """The output of the command that `request` starts, one of ours; it is killed if the context ends before its output.

    `exchange` sends bytes to the agent and returns its answer; `ended` reads its last one. Raises `InsideError` at
    once when the command cannot be run at all, and `ProgramKilled` where somebody else killed it, or it got no core.
    """
    flow = Inflow(argv, request, exchange, ended)
    try:
        with io.BufferedReader(flow, messages.PIECE) as stream:
            yield stream
    except BaseException:
        with suppress(SandboxError):
            flow.stop()
        raise
    flow.stop()


class Inflow(io.RawIOBase):
    """The pieces of one command's output; see `reading`."""

    def __init__(self, argv: list[str], request: bytes, exchange: Exchange, ended: Ended) -> None:
        self._argv, self._exchange, self._ended = argv, exchange, ended
        self._piece = memoryview(b"")
        self._done = self._stopped = False
        self._failure: InsideError | SandboxError | None = None
        self._take(exchange(request))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Some bytes of the command's output; 0 after its last one. Raises `InsideError` when the command failed."""
        if not self._piece and not self._done:
            self._take(self._exchange(messages.NEXT))
        if not self._piece and self._failure is not None:
            raise self._failure
        goal = memoryview(buffer).cast("B")
        size = min(len(goal), len(self._piece))
        goal[:size] = self._piece[:size]
        self._piece = self._piece[size:]
        return size

    def stop(self) -> None:
        """Kill the command if it still runs. Raises `SandboxError` when the sandbox is gone."""
        if not self._done:
            self._stopped = True
            self._take(self._exchange(messages.STOP))

    def _take(self, answer: list[bytes]) -> None:
        if answer[0] == b"piece":
            self._piece = memoryview(answer[1])
            return
        self._done = True
        if answer[0] == b"errno":
            raise not_run(os.fsdecode(answer[2]))
        done = self._ended(answer)
        if (done.exit_code or done.timed_out) and not self._stopped:
            self._failure = self._failed(done)

    def _failed(self, done: Completed) -> InsideError | SandboxError:
        program = shlex.quote(self._argv[0])
        try:
            undisturbed(done, program, done.seconds)
        except ProgramKilled as killed:
            return killed
        how = f"met its time limit after {done.seconds:.0f} s" if done.timed_out else f"exited {done.exit_code}"
        said = done.stderr[-SHOWN:].decode("utf-8", "replace").strip()
        return InsideError(f"{program} {how}" + (f": {said}" if said else ""))
