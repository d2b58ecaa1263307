"""Rows of a table of attacks or of honest patches as cases of a test: `make test` runs a sample, `make test-attacks`
the others."""

from collections.abc import Iterable
from typing import Any

import pytest


def rows(found: Iterable[Any], every: int = 8) -> list[Any]:
    """Each value as a parameter; the first and every `every`-th after it are the sample."""
    marks = (pytest.mark.slow, pytest.mark.attacks)
    return [pytest.param(one, marks=marks[number % every > 0]) for number, one in enumerate(found)]
