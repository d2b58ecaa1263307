"""How the tests of each framework are found, run and reported. Every script prints the same records, so that one parser
reads them all.

A framework is a `Runner`: a value with the lines that call it. `calling` finds which one a repository uses, and with
which options, in the repository's own settings.
"""

from selfplay.repository.suites.pytest_suite import PARSER
from selfplay.repository.suites.runners.runner import Runner, RunnerCall, RunnerRequest
from selfplay.repository.suites.runners.scripts import RUNNERS, script_for
from selfplay.repository.suites.runners.search import calling

__all__ = ["PARSER", "RUNNERS", "Runner", "RunnerCall", "RunnerRequest", "calling", "script_for"]
