"""The workbench: an artifact's oracle tests on variants of the original, isolated and cached, with counted runs."""

from selfplay.workbench.bench import Workbench
from selfplay.workbench.cache import RunCache
from selfplay.workbench.parsing import ParserError, read_outcomes
from selfplay.workbench.result import Inspection, Meter, TestRun

__all__ = ["Inspection", "Meter", "ParserError", "RunCache", "TestRun", "Workbench", "read_outcomes"]
