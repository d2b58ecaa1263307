"""Finds, runs and reports the tests of each framework. Every script prints the same records, so that one parser reads
them all.

A framework is a `Runner`: a value with the lines that call it. `calling` reads from the repository's settings which one
it uses, and with which options.
"""

from selfplay.repository.suites.pytest_suite import PARSER
from selfplay.repository.suites.runners.runner import Runner, RunnerCall, RunnerRequest
from selfplay.repository.suites.runners.scripts import RUNNERS, script_for
from selfplay.repository.suites.runners.search import calling

__all__ = ["PARSER", "RUNNERS", "Runner", "RunnerCall", "RunnerRequest", "calling", "script_for"]
