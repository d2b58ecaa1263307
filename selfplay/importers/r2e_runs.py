"""Reads the test outcomes of an R2E row before and after its commit from the two logs, as pytest ids.

A line is `PASSED r2e_tests/test_1.py::Class::test`; runners for unittest print the module in place of the file, and
rows exported by selfplay only the id. Only passing tests are read by their ids, since their lines end with the id;
lines of other outcomes also have the reason.
"""

import re
from bisect import bisect_left
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from selfplay.importers.rows import ImportRefused
from selfplay.importers.tasks import decoded

FOLDER = "r2e_tests"
_HEADING = re.compile(r"^=+ short test summary info =+\s*$", re.MULTILINE)
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_LINE = re.compile(r"(PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (.+)")
_MODULE = re.compile(r"(?:[A-Za-z0-9_]+\.)*+([A-Za-z0-9_]+)")


@dataclass(frozen=True)
class LoggedRun:
    """A summary: the ids that passed, and the sorted lines of the other outcomes."""

    passed: tuple[str, ...]
    others: tuple[str, ...]

    def tells(self, test: str) -> bool:
        """Whether the test ended in another way: its line is its id, or `id - reason`."""
        at = bisect_left(self.others, test)
        after = bisect_left(self.others, f"{test} - ")
        return self.others[at : at + 1] == (test,) or "".join(self.others[after : after + 1]).startswith(f"{test} - ")


def summary(log: str | None, when: str) -> LoggedRun:
    """The outcomes in a log. Raises `ImportRefused` if it has no summary."""
    *before, last = _HEADING.split(_COLOUR.sub("", log or ""))
    found = [match.groups() for line in last.split("\n") if (match := _LINE.fullmatch(line.rstrip()))]
    if not found or not before:
        raise ImportRefused(f"it has no test outcomes from {when} its commit")
    return LoggedRun(
        tuple(told for outcome, told in found if outcome == "PASSED"),
        tuple(sorted(told for outcome, told in found if outcome != "PASSED")),
    )


def decided(
    old: LoggedRun, new: LoggedRun, expected: Mapping[str, str], files: Collection[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(F2P, P2P). `files`: the row's files in `r2e_tests`. A test that passed after the commit but is not expected to
    pass is in neither. Raises `ImportRefused`."""
    wanted = {_COLOUR.sub("", name).split(" - ")[0] for name, outcome in expected.items() if outcome == "PASSED"}
    before = frozenset(old.passed)
    fails, passes = dict[str, None](), dict[str, None]()
    for told in new.passed:
        if _expected_name(told) not in wanted:
            continue
        if told not in before and not old.tells(told):
            raise ImportRefused(f"{told[:200]!r} passed after its commit and was not run before it")
        (passes if told in before else fails)[_test_id(told, files)] = None
    return tuple(fails), tuple(test for test in passes if test not in fails)


def _expected_name(told: str) -> str:
    """A test's name in `expected_output_json`."""
    return ".".join(told.split("::")[1:]).split(" - ")[0]


def _test_id(told: str, files: Collection[str]) -> str:
    place, _, test = told.partition("::")
    if not place:
        return decoded(test)
    module = _MODULE.fullmatch(place)
    if module and f"{module[1]}.py" in files:
        return f"{FOLDER}/{module[1]}.py::{test}"
    return told
