"""Parses a stranger's text in a process of its own first, whose memory is limited.

Where a text can be read in many ways, tree-sitter follows all of them: 80 kB of `f<a,` took 6 GB, within all bounds on
its steps, and 90 kB ended the process. Nothing in this process can see that coming, so the other one does it first, and
what ends it is not parsed here.

The process is started when a long text comes, serves one text after the other, and ends with this one. Run as a
program, this module is that process.
"""

import atexit
import os
import resource
import select
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress

from selfplay import subprocesses
from selfplay.syntax.bounded import TooCostly, Unreadable, tree_of
from selfplay.syntax.grammar import GRAMMARS

SHORT = 4096
"""Bytes of a text that is parsed at once: the square of so little is 20 MB."""
MOST_MEMORY = 1 << 30
"""Bytes of address space of the process. 400 kB of minified code take 200 MB."""
PATIENCE = 300.0
"""Seconds for one text: the bounds on its steps end it long before, on any machine."""
TRIES = 2
"""A process that is killed for another reason lives the next time."""
_HEAD = 4


class _Ended(Exception):
    """The process ended, or did not answer."""


class _ParsingProcess:
    """The process, and who may talk to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocesses.Process | None = None

    def verdict(self, language: str, data: bytes) -> str:
        """What is said of a text: empty if it can be parsed, else the error, `costly` or `wrong` first. Raises
        `TooCostly` if the process does not survive it, and `OSError` if there can be none."""
        with self._lock:
            for _ in range(TRIES):
                try:
                    return self._asked(language, data)
                except _Ended:
                    self._end()
                except BaseException:  # its answer would be taken for the next text's
                    self._end()
                    raise
        raise TooCostly(f"too costly to parse as {language}")

    def _asked(self, language: str, data: bytes) -> str:
        process = self._running()
        assert process.stdin
        try:
            for part in (language.encode(), data):
                process.stdin.write(len(part).to_bytes(_HEAD) + part)
            process.stdin.flush()
        except OSError as error:
            raise _Ended from error
        return _line(process)

    def _running(self) -> subprocesses.Process:
        """The process, started anew if it has ended."""
        if self._process is None or self._process.poll() is not None:
            self._process = subprocesses.start(
                [*subprocesses.PYTHON, "-m", __name__],
                stdin=subprocesses.PIPE, stdout=subprocesses.PIPE, stderr=subprocesses.NOWHERE, new_session=True,
            )  # fmt: skip
            try:
                _line(self._process)
            except _Ended as error:  # no text is to blame
                raise OSError("the process that parses long texts does not start") from error
        return self._process

    def _end(self) -> None:
        if self._process:
            self._process.kill()
            self._process.communicate()
        self._process = None

    def forget(self) -> None:
        """In a fork: the process is its parent's, and the lock may be held by a thread that is not there."""
        self._lock, self._process = threading.Lock(), None

    def close(self) -> None:
        with self._lock:
            self._end()


def _line(process: subprocesses.Process) -> str:
    """The process's next line. Raises `_Ended`."""
    assert process.stdout
    if not select.select([process.stdout], [], [], PATIENCE)[0]:
        raise _Ended
    line = process.stdout.readline()
    if not line.endswith(b"\n"):
        raise _Ended
    return line.decode().strip()


_TRIAL = _ParsingProcess()
os.register_at_fork(after_in_child=_TRIAL.forget)
atexit.register(_TRIAL.close)


def try_to_parse(language: str, data: bytes) -> None:
    """Raises what `tree_of` raises for a text, and `TooCostly` for one that takes more memory than it may."""
    if len(data) <= SHORT:
        return
    kind, _, said = _TRIAL.verdict(language, data).partition(" ")
    if kind:
        raise (TooCostly if kind == "costly" else Unreadable)(said)


def _texts() -> Iterator[tuple[str, bytes]]:
    source = sys.stdin.buffer
    while head := source.read(_HEAD):
        language = source.read(int.from_bytes(head)).decode()
        yield language, source.read(int.from_bytes(source.read(_HEAD)))


def _serve() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    with suppress(ValueError):  # one byte, with which the kernel starts no handler of crashes either
        resource.setrlimit(resource.RLIMIT_CORE, (1, 1))
    print("ready", flush=True)
    for language, data in _texts():
        try:
            tree_of(GRAMMARS[language].parser, data, language)
            said = ""
        except TooCostly as error:
            said = f"costly {error}"
        except Unreadable as error:
            said = f"wrong {error}"
        print(said, flush=True)


if __name__ == "__main__":
    _serve()
