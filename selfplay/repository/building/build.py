"""The state of one build: what to build, its sandbox, and its log."""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from selfplay.formatting import Say
from selfplay.plain_text import printable
from selfplay.repository.building.interpreters import Interpreter
from selfplay.repository.errors import BuildFailed
from selfplay.repository.fetching.reading import BuildPlan
from selfplay.sandbox import MIB, Completed, Limits, Sandbox
from selfplay.sandbox.kill_detection import believed_here

if TYPE_CHECKING:
    from selfplay.repository.network.egress import Egress

ENV, TOOLS = "/env", "/tools"
BUILD_LIMITS = Limits(memory_bytes=6144 * MIB, disk_bytes=3072 * MIB, processes=1024, output_bytes=MIB)
"""Limits of a build's sandbox. Its disk holds everything the build writes, including uv's cache and the environment."""
STEP_SECONDS = 900.0
TRIES = 2
"""How often a step is run if it is killed each time."""
AGAIN = (1.0, 4.0)
"""Seconds before a step is started again that something else may have disturbed."""
REFUSED = ("Connection refused", "ECONNREFUSED", "connection refused")
"""What a program says when the process that forwards its connections is gone."""
MAX_LINE = 400
OUT_OF_DISK = (os.strerror(errno.ENOSPC), os.strerror(errno.EFBIG), signal.strsignal(signal.SIGXFSZ) or "SIGXFSZ")
"""Error texts for a full sandbox disk, or a file larger than the disk."""


@dataclass(frozen=True)
class BuildRequest:
    """What to build: a plan, the interpreter, and what the user or an earlier build fixed.

    `setup` replaces the installation steps; `version`: the version reported to tools that read it from tags;
    `constraints`: exact versions from an earlier build; `allow_hosts`: hosts it may reach besides the package indexes;
    `as_of`: the last upload day that detected installation steps may use, empty for any.
    """

    plan: BuildPlan
    interpreter: Interpreter | None
    tracked: Mapping[str, str]
    setup: str | None = None
    version: str | None = None
    constraints: tuple[str, ...] = ()
    allow_hosts: tuple[str, ...] = ()
    as_of: str = ""


MOST_LOG, LAST_OF_STEP = 64 * MIB, 4096
"""Bytes of a log in which steps stand whole, and of a step's end behind that."""


@dataclass
class Building:
    """The state of one build: its sandbox, log and notes, and the output of the last command.

    `dating`: whether packages are installed as of a day; `dated`: whether one was. `failure`: the last installation's
    error. `patient`: an index that does not answer is waited for. `roots`: folders of the tree, besides the plan's,
    from which modules are imported. `settings`: Django's, for its tests.
    """

    request: BuildRequest
    sandbox: Sandbox
    log: Path
    progress: Say
    env: dict[str, str]
    notes: list[str] = field(default_factory=list)
    last: str = ""
    failure: str = ""
    dating: bool = True
    dated: bool = False
    roots: tuple[str, ...] = ()
    settings: str = ""
    patient: bool = True
    egress: Egress | None = None

    def run(
        self,
        step: str,
        command: str | Sequence[str],
        *,
        timeout: float = STEP_SECONDS,
        online: bool = False,
        **env: str,
    ) -> Completed:
        """Run and log one command, `online` with access to the package indexes. What something else may have disturbed
        is run again, since a build's result is kept for long."""
        sent = self.egress.leading(command) if online and self.egress else command
        done = self._undisturbed(
            lambda: self.sandbox.run(sent, timeout=timeout, env={**self.env, **env}, merge_stderr=True), online
        )
        self._note(step, command if isinstance(command, str) else " ".join(command), done)
        with self.log.open("ab") as log:
            log.write(self.egress.log_line().encode() if online and self.egress else b"")
        self.last = done.text
        return done

    def _undisturbed(self, start: Callable[[], Completed], online: bool) -> Completed:
        """The result of a command, which is started again when it was killed, when it failed after the machine had
        killed a process of it, and when it failed while an index did not answer. An index that stays away is asked
        once by each later step."""
        pauses = iter(AGAIN)
        while True:
            failures = self._unreached()
            done = believed_here(self.sandbox, start, TRIES)
            if done.exit_code == 0 or done.timed_out:
                return done
            away = online and self.patient and (self._unreached() > failures or any(s in done.text for s in REFUSED))
            killed = done.killed_for_memory and not done.over_memory
            pause = next(pauses, None)
            if pause is None or not (away or killed):
                self.patient = self.patient and not away
                return done
            time.sleep(pause)

    def _unreached(self) -> int:
        return self.egress.proxy.unreached if self.egress else 0

    def ask(self, step: str, command: Sequence[str], stdin: bytes) -> Completed:
        """Run one of our programs, which answers on stdout. Raises `BuildFailed`."""
        done = believed_here(
            self.sandbox, lambda: self.sandbox.run(command, timeout=STEP_SECONDS, env=self.env, stdin=stdin), TRIES
        )
        self._note(step, command[0], done)
        if done.exit_code != 0 or done.timed_out or done.truncated:
            self.raise_if_full(step, done)
            raise BuildFailed(describe(step, done))
        return done

    def raise_if_full(self, step: str, done: Completed) -> None:
        """Raises `BuildFailed` if a failed command reports that the sandbox's disk is full."""
        if any(words in done.text for words in OUT_OF_DISK):
            most = f"{BUILD_LIMITS.disk_bytes // MIB} MiB and {BUILD_LIMITS.files} files"
            hint = f"A build may write {most} together. Install less, with commands of your own: --setup."
            raise BuildFailed(f"{step} filled the build's disk{last_lines(done.text)}", hint)

    def _note(self, step: str, shown: str, done: Completed) -> None:
        said = done.stdout + done.stderr
        with self.log.open("ab") as log:
            if log.tell() + len(said) > MOST_LOG:  # a build may have thousands of steps
                said = said[-LAST_OF_STEP:]
            head = f"\n### {step} ({done.seconds:.1f} s, exit {done.exit_code})\n$ {shown}\n"
            log.write(head.encode("utf-8", "surrogateescape"))
            log.write(said)

    def must(self, step: str, command: str | Sequence[str], *, online: bool = False) -> Completed:
        """Run, or raise `BuildFailed`."""
        done = self.run(step, command, online=online)
        if done.exit_code != 0 or done.timed_out:
            self.raise_if_full(step, done)
            raise BuildFailed(describe(step, done))
        return done

    def install(self, step: str, *arguments: str, dated: bool = True) -> bool:
        """Run `uv pip install` into the environment; returns whether it worked. `dated`: as of the request's day, and
        if that fails, as of today, with a note."""
        if not (dated and self.request.as_of and self.dating):
            return self._install(step, arguments)
        if self._install(f"{step} as of {self.request.as_of}", ("--exclude-newer", self.request.as_of, *arguments)):
            self.dated = True
            return True
        if not self._install(step, arguments):
            return False
        self.notes.append(f"{step} does not work as of {self.request.as_of}: today's versions were taken")
        self.dating = self.dated  # do not ask again if the index has no upload times
        return True

    def _install(self, step: str, arguments: Sequence[str]) -> bool:
        limited = ["--constraint", "/tmp/constraints.txt"] if self.request.constraints else []
        command = ["/build/uv", "pip", "install", "--python", f"{ENV}/bin/python", *limited, *arguments]
        done = self.run(step, command, online=True)
        if done.exit_code != 0:
            self.raise_if_full(step, done)
        self.failure = describe(step, done)
        return done.exit_code == 0 and not done.timed_out


def describe(step: str, done: Completed) -> str:
    how = f"took more than {STEP_SECONDS:.0f} s" if done.timed_out else f"exited {done.exit_code}"
    return f"{step} {how}{last_lines(done.text)}"


def last_lines(log: str) -> str:
    lines = [line for line in log.strip().splitlines() if line.strip()]
    return "".join(f"\n    {printable(line)[-MAX_LINE:]}" for line in lines[-6:])
