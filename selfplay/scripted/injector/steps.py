"""The scripted injector's tool calls: small scripts that yield calls and return what they learn."""

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from selfplay.plain_text import encode
from selfplay.repository import Suite
from selfplay.repository.suites import pytest_suite
from selfplay.scripted.edits.cuts import PlantedChange
from selfplay.scripted.injector import inside
from selfplay.scripted.injector.weaken import Failure
from selfplay.scripted.policy import Script
from selfplay.scripted.tools import PAGE, bash, create
from selfplay.untrusted_json import AnswerError, answer

PLUGINS = "/tmp/plugins"
PROBE = "selfplay_probe"
PATIENCE = 8.0
"""How many times its seconds a test of a look may take on a busy machine, or waiting: what hangs is not to depend on
other work."""
PASSED, FAILED, NOTHING_COLLECTED = 0, 1, 5
"""pytest's exit codes for a run that finished."""


@dataclass(frozen=True)
class ScriptedRun:
    """One run of some tests: which failed and how many passed; `ran` is False when they could not be run."""

    failures: tuple[Failure, ...] = ()
    passed: int = 0
    ran: bool = True


def install_probe() -> Script[None]:
    """Put the plugin that `run_tests` needs into the sandbox."""
    yield from create(f"{PLUGINS}/{PROBE}.py", inside.text(f"{PROBE}.py"))


def run_tests(suite: Suite, ids: Sequence[str], test_seconds: float, most: int) -> Script[ScriptedRun]:
    """Run the tests `ids`; learn where the failing ones are defined, and how many pass.

    A test that hangs makes the run useless, and so do more than `most` failures: the run ends there.
    """
    files = dict.fromkeys(pytest_suite.file_of(test) for test in ids)
    # Explaining failures takes longer than failing.
    options = ("-p", PROBE, "--assert=plain", "--tb=no", f"--maxfail={most + 1}", *suite.options)
    script = pytest_suite.render_script(files, only=ids, options=options, test_seconds=test_seconds, patience=PATIENCE)
    yield from create("/tmp/look.sh", script)
    done = yield from bash(
        f"export PYTHONPATH={PLUGINS} PROBE_OUT=/tmp/report; rm -f $PROBE_OUT; "
        f"bash /tmp/look.sh >/tmp/log 2>&1; code=$?; head -c {PAGE} $PROBE_OUT; exit $code",
        60 + 5 * suite.wall_seconds,
    )
    lines = done.output.splitlines()
    if done.exit_code not in (PASSED, FAILED, NOTHING_COLLECTED) or not lines:
        return ScriptedRun(ran=False)
    return read_report(lines)


def read_report(lines: Sequence[str]) -> ScriptedRun:
    """Reads the probe's report. An invalid one (too many failures, a hanging test, foreign lines) gives a run that did
    not run."""
    try:
        passed = answer(dict[str, int], encode(lines[-1]))["passed"]
        found = [answer(_Line, encode(line)) for line in lines[:-1]]
    except (AnswerError, KeyError):
        return ScriptedRun(ran=False)
    if any(one.late for one in found):
        return ScriptedRun(ran=False)
    return ScriptedRun(
        tuple(Failure(one.id, one.path, one.line, one.name, one.crash, one.indices) for one in found), passed
    )


@dataclass(frozen=True)
class _Line:
    """One failing test, as the probe describes it."""

    id: str
    path: str
    line: int
    name: str
    late: bool
    crash: int | None
    indices: dict[str, int]


def undo(changes: Iterable[PlantedChange]) -> Script[None]:
    for change in changes:
        yield from create(change.path, change.before)


def quoted(names: Iterable[str]) -> list[str]:
    return [shlex.quote(name) for name in names]
