"""One live sandbox under bubblewrap, on the supervisor's side."""

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable, Mapping

from selfplay.sandbox.cgroups import ControlGroup
from selfplay.sandbox.kill_detection import kills_around
from selfplay.sandbox.launching import Hello
from selfplay.sandbox.live import GRACE_SECONDS, Link, LiveSandbox
from selfplay.sandbox.protocol import Limits


class BubblewrapSandbox(LiveSandbox):
    """The agent is a process of this machine: killing it ends the whole namespace.

    It is in no limited group, so no limit of the sandbox can have killed it (`Cause.LIMIT`)."""

    def __init__(
        self,
        link: Link,
        hello: Hello,
        env: Mapping[str, str],
        limits: Limits,
        group: ControlGroup | None = None,
        freed: Callable[[], None] = lambda: None,
        own_env: Mapping[str, str] | None = None,
    ) -> None:
        """`freed` is called once everything inside is dead."""
        super().__init__(link, env, limits, own_env)
        self.hello = hello
        self.group, self._freed = group, freed
        self._memory_kills = self._limits_met = 0
        self._process = os.pidfd_open(hello.pid)

    def _begins(self) -> None:
        self._memory_kills = self._kills_for_memory()
        if self.group is not None:
            self._limits_met = self.group.limits_met()
            self.group.forget_peak()

    def _killed_for_memory(self, ended: bool) -> bool:
        return self._kills_for_memory() > self._memory_kills

    def _kills_for_memory(self) -> int:
        """Without a group, of this process's own: whether one was here cannot be told."""
        return self.group.memory_kills() if self.group is not None else kills_around()

    def _over_memory(self) -> bool:
        return self.group is not None and self.group.met_memory_limit(self._limits_met)

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, signal.SIGKILL)
        if not self._gone(GRACE_SECONDS * 1000):  # what it may use belongs to it until then
            threading.Thread(target=self._gone, daemon=True).start()

    def _gone(self, milliseconds: float | None = None) -> bool:
        """Wait until pid 1 and its namespace are gone, and give back what they used."""
        poll = select.poll()
        poll.register(self._process, select.POLLIN)
        if not poll.poll(milliseconds):
            return False
        os.close(self._process)
        self._freed()
        return True
