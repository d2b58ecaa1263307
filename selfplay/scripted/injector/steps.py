"""The scripted injector's tool calls: small scripts that yield calls and return what they learn."""

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from selfplay.repository import Suite, pytest_suite
from selfplay.scripted.edits.cuts import Change
from selfplay.scripted.injector import inside
from selfplay.scripted.injector.weaken import Failure
from selfplay.scripted.policy import Script
from selfplay.scripted.tools import PAGE, bash, create

PLUGINS = "/tmp/plugins"
PROBE = "selfplay_probe"
PASSED, FAILED, NOTHING_COLLECTED = 0, 1, 5
"""pytest's exit codes for a run that finished."""


@dataclass(frozen=True)
class TestRun:
    """One run of some tests: which failed and how many passed; `ran` is False when they could not be run."""

    failures: tuple[Failure, ...] = ()
    passed: int = 0
    ran: bool = True


def install_probe() -> Script[None]:
    """Put the plugin that `run_tests` needs into the sandbox."""
    yield from create(f"{PLUGINS}/{PROBE}.py", inside.text(f"{PROBE}.py"))


def run_tests(suite: Suite, ids: Sequence[str], test_seconds: float, most: int) -> Script[TestRun]:
    """Run the tests `ids`; learn where the failing ones are defined, and how many pass.

    A test that hangs makes the run useless, and so do more than `most` failures: the run ends there.
    """
    files = dict.fromkeys(pytest_suite.file_of(test) for test in ids)
    options = (
        "-p",
        PROBE,
        "--assert=plain",
        f"--maxfail={most + 1}",
        *suite.options,
    )  # explaining failures takes longer than failing
    script = pytest_suite.render_script(files, only=ids, options=options, test_seconds=test_seconds)
    yield from create("/tmp/look.sh", script)
    done = yield from bash(
        f"export PYTHONPATH={PLUGINS} PROBE_OUT=/tmp/report; rm -f $PROBE_OUT; "
        f"bash /tmp/look.sh >/tmp/log 2>&1; code=$?; head -c {PAGE} $PROBE_OUT; exit $code",
        10 + 3 * suite.wall_seconds,
    )
    lines = done.output.splitlines()
    if done.exit_code not in (PASSED, FAILED, NOTHING_COLLECTED) or not lines:
        return TestRun(ran=False)
    *failed, last = (parse_line(line) for line in lines)
    if "passed" not in last or any(found.get("late") for found in failed):
        return TestRun(ran=False)  # more failures than a page holds, or a test that hangs
    return TestRun(tuple(_failure(found) for found in failed), int(last["passed"]))


def parse_line(line: str) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _failure(found: dict[str, Any]) -> Failure:
    return Failure(
        id=str(found.get("id")),
        path=str(found.get("path")),
        line=int(found.get("line") or 0),
        name=str(found.get("name")),
        crash=found.get("crash"),
        indices=dict(found.get("indices") or {}),
    )


def undo(changes: Iterable[Change]) -> Script[None]:
    for change in changes:
        yield from create(change.path, change.before)


def quoted(names: Iterable[str]) -> list[str]:
    return [shlex.quote(name) for name in names]
