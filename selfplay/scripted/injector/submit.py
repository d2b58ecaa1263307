"""The five files of a bug, written for the repository as it is now, and submitted."""

from collections.abc import Collection, Sequence

from selfplay.agent.actions import Call
from selfplay.repository.suites import pytest_suite
from selfplay.roles.injector.task import SUBMISSION
from selfplay.scripted import tools
from selfplay.scripted.edits.cuts import PlantedChange
from selfplay.scripted.injector import steps
from selfplay.scripted.policy import Script, Stuck


def hand_in(
    script: str, listed: Collection[str], changes: Sequence[PlantedChange], weakened: Sequence[PlantedChange]
) -> Script[None]:
    """Submit the bug. `script`: its test script; `listed`: the oracle test files. One parser reads every script."""
    yield from tools.create(f"{SUBMISSION}/test_script.sh", script)
    yield from tools.create(f"{SUBMISSION}/test_parser.py", pytest_suite.PARSER)
    yield from tools.create(f"{SUBMISSION}/test_files.txt", "".join(f"{path}\n" for path in sorted(listed)))
    for name, part in (("bug_inject.diff", changes), ("test_weaken.diff", weakened)):
        places = " ".join(steps.quoted(change.path for change in part))
        done = yield from tools.bash(
            f"git --no-pager diff --no-color --no-ext-diff --binary --full-index -- {places} > {SUBMISSION}/{name}"
        )
        if not done.ok:
            raise Stuck(f"git diff failed: {done.output[:500]}")
    yield Call("submit", {"folder": SUBMISSION})
