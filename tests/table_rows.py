"""Rows of a table as cases of a test, of which `make test` runs a sample: the first and every `every`-th after it."""

from collections.abc import Iterable
from typing import Any

import pytest


def rows(found: Iterable[Any], every: int = 8) -> list[Any]:
    """Attacks or honest patches; `make test-attacks` runs the others."""
    return [pytest.param(one, marks=pytest.mark.attacks if number % every else pytest.mark.slow)
            for number, one in enumerate(found)]  # fmt: skip


def long_rows(found: Iterable[Any], every: int = 8) -> list[Any]:
    """Rows of any other table; `make test-long` runs the others."""
    return [pytest.param(one, marks=[pytest.mark.long] if number % every else []) for number, one in enumerate(found)]
