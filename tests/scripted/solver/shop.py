"""A small shop with a bug per idea of repair, and evidence made by hand where nothing need be run."""

import ast
from collections.abc import Mapping

from selfplay.scripted.solver.evidence import Evidence, Failing, Place

LINES = 10_000


def evidence(texts: Mapping[str, str], *failing: Failing, specification: str = "", **more: object) -> Evidence:
    """Evidence in which the one failing test runs every line of every file."""
    runs = {path: dict.fromkeys(range(1, text.count("\n") + 1), 1) for path, text in texts.items()}
    tests = failing or (Failing("tests/test_a.py::test_a", "AssertionError", ""),)
    return Evidence(texts, tests, specification, runs, **more)


def place(found: Evidence, name: str) -> Place:
    return next(place for place in found.places if place.function.name == name)


def program(text: str) -> str:
    return ast.dump(ast.parse(text))
