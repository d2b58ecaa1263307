"""A project's own suite run bare, between the measured work: both sides of a ratio then see the same noise."""

import shlex

from selfplay.commands.cost import cpu_seconds
from selfplay.curriculum import Attempt, RunProgress
from selfplay.repository import Prepared
from selfplay.sandbox import Sandbox


class Bare:
    """A watcher that runs the suite bare between episodes, and knows what that took."""

    def __init__(self, sandbox: Sandbox, command: str) -> None:
        self.sandbox, self.command = sandbox, command
        self.wall: list[float] = []
        self.core: list[float] = []
        self.spent_wall = self.spent_core = 0.0
        self.steps = 0

    def say(self, line: str) -> None:
        pass

    def expect(self, total: int, doing: str = "", done: int = 0) -> None:
        pass

    def attempt(self, attempt: Attempt) -> None:
        pass

    def step(self, step: RunProgress) -> None:
        self.steps += 1
        if self.steps % 2:
            self.run()

    def run(self) -> None:
        """One bare run; its time is kept and, sandbox and all, known as ours."""
        before = cpu_seconds()
        done = self.sandbox.run(self.command, timeout=600)
        self.spent_core += cpu_seconds() - before
        self.spent_wall += done.seconds
        self.wall.append(done.seconds)
        self.core.append(done.cpu_seconds)


def bare_command(files: tuple[str, ...]) -> str:
    """Plain pytest as a developer runs it; bytecode may be written, so that every run but the first is warm."""
    names = " ".join(shlex.quote(file) for file in files)
    return f"unset PYTHONDONTWRITEBYTECODE; python -m pytest -q -p no:cacheprovider {names} > /dev/null 2>&1"


def warmed(bare: Bare, prepared: Prepared) -> None:
    """The first run, which compiles, counts for nothing. A suite pytest cannot run as it is has no bare run."""
    done = bare.sandbox.run(bare.command, timeout=600)
    if done.exit_code not in (0, 1):
        raise SystemExit(f"plain pytest does not run in {prepared.source}: exit code {done.exit_code}")
