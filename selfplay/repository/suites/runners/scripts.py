"""`test_script.sh` for a measured suite of any framework."""

from collections.abc import Collection

from selfplay.repository.prepared import Suite
from selfplay.repository.suites import pytest_suite
from selfplay.repository.suites.runners.go import GO
from selfplay.repository.suites.runners.javascript import AVA, JEST, MOCHA, NODE, VITEST
from selfplay.repository.suites.runners.runner import RunnerRequest
from selfplay.repository.suites.script_frame import framed

RUNNERS = {runner.name: runner for runner in (MOCHA, JEST, VITEST, AVA, NODE, GO)}
"""All runners but pytest, which `pytest_suite` handles."""


def script_for(suite: Suite, files: Collection[str] | None = None, *, only: Collection[str] = ()) -> str:
    """The script for a suite, or for some of its files or ids."""
    if suite.runner == "pytest":
        return pytest_suite.script_for(suite, files, only=only)
    picked, excluded = pytest_suite.picked_of(suite, files, only)
    asked = RunnerRequest(tuple(picked), suite.options, (), tuple(excluded), tuple(sorted(only)), suite.before)
    return framed(RUNNERS[suite.runner].lines(asked))
