"""The output of one command as a readable stream: the supervisor's side, which requests piece after piece from the
agent."""

import io
import os
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from selfplay.sandbox import messages
from selfplay.sandbox.protocol import SandboxError

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

SHOWN = 2000
Exchange = Callable[[bytes], list[bytes]]


@contextmanager
def reading(argv: list[str], request: bytes, exchange: Exchange, spent: Callable[[float], None]) -> Iterator[IO[bytes]]:
    """The output of the command that `request` starts; the command is killed if the context ends before its output.

    `exchange` sends bytes to the agent and returns its answer; `spent` is called with the command's cpu seconds when it
    ends. Raises `SandboxError` at once when the command cannot be run at all.
    """
    flow = Inflow(argv, request, exchange, spent)
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

    def __init__(self, argv: list[str], request: bytes, exchange: Exchange, spent: Callable[[float], None]) -> None:
        self._argv, self._exchange, self._spent = argv, exchange, spent
        self._piece = memoryview(b"")
        self._done = self._stopped = False
        self._failure: SandboxError | None = None
        self._take(exchange(request))

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "WriteableBuffer", /) -> int:
        """Some bytes of the command's output; 0 after its last one. Raises `SandboxError` when the command failed."""
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
            raise SandboxError(f"the sandbox cannot run a command: {os.fsdecode(answer[2])}")
        code, timed_out, _, seconds, cpu_seconds = messages.DONE.unpack(answer[1])
        self._spent(cpu_seconds)
        if (code or timed_out) and not self._stopped:
            how = f"met its time limit after {seconds:.0f} s" if timed_out else f"exited {code}"
            said = answer[3][-SHOWN:].decode("utf-8", "replace").strip()
            self._failure = SandboxError(f"{shlex.quote(self._argv[0])} {how}" + (f": {said}" if said else ""))
