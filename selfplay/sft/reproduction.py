"""How a solver sees a bug before its repair and checks it afterwards: it restores one of the tests in its prompt and
runs it.

It restores only the shortest test, since a long specification would fill a small model's context.
`demonstrate.demonstrate_repair` checks the commands' output.
"""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass

from selfplay.oracle.originals import original_texts
from selfplay.oracle.specification import least_failing
from selfplay.repository import Suite
from selfplay.repository.suites.pytest_suite import file_of
from selfplay.repository.suites.runners.runner import RunnerRequest, quoted
from selfplay.rollout.ready_bug import ReadyBug

END = "END_OF_DIFF"
"""Never a line of a diff: those begin with a mark or a git keyword."""
SHOWN = 20
"""How many last lines of the tests' output are shown: every framework names failures at the end."""
_LOCAL = 'PATH="$PWD/node_modules/.bin:$PATH"'
COMMANDS = {
    "mocha": f"{_LOCAL} mocha", "jest": f"{_LOCAL} jest --ci", "vitest": f"{_LOCAL} vitest run",
    "node": "node --test", "go": "go test -vet=off",
}  # fmt: skip
_INDEX = re.compile(r"^index .*\n", re.MULTILINE)


@dataclass(frozen=True)
class Reproduction:
    """Commands: `restore` restores a test (empty if the failing tests are in the solver's world); `run` fails while the
    bug is present."""

    restore: str
    run: str


def reproduction(ready: ReadyBug, suite: Suite) -> Reproduction:
    """The commands for a bug. Raises `PatchError`, `OracleError`."""
    bug, weakening = ready.bug, ready.artifact.test_weaken
    originals = original_texts(ready.graded.world, ready.artifact.test_files)
    diff, tests = least_failing(weakening or "", originals, bug.fail_to_pass, bug.hidden)
    diff = diff or ready.specification  # for inherited tests: their weakening belongs to no single test
    restore = f"git apply <<'{END}'\n{_INDEX.sub('', diff)}{END}" if diff else ""
    shown = tests or [test for test in bug.fail_to_pass if test not in bug.hidden]
    return Reproduction(restore, f"set -o pipefail\n{command(suite, map(file_of, shown))} 2>&1 | tail -n {SHOWN}")


def command(suite: Suite, files: Iterable[str]) -> str:
    """The command to run these test files; runs all tests for Go or a user's command."""
    if suite.command:
        return suite.command
    known = sorted(set(files))
    if suite.runner == "pytest":
        left_out = [f"--deselect={test}" for test in suite.excluded if file_of(test) in known]
        return shlex.join(["python3", "-m", "pytest", "-q", "--tb=short", *suite.options, *left_out, *known])
    asked = RunnerRequest(options=suite.options)
    places = ["./..."] if suite.runner == "go" else known
    settings = "".join(f"{one} && " for one in suite.before)
    settings += f"export {quoted(asked.assignments)}; " if asked.assignments else ""
    return f"{settings}{COMMANDS[suite.runner]} {shlex.join([*asked.words, *places])}"
