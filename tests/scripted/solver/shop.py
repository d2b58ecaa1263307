"""A small shop with a bug per idea of repair, and evidence made by hand where nothing need be run."""

import ast
from collections.abc import Mapping

from selfplay.scripted.solver.evidence import CodePlace, Evidence
from selfplay.scripted.solver.reports import SeenTest

LINES = 10_000


def evidence(texts: Mapping[str, str], *failing: SeenTest, specification: str = "", **more: object) -> Evidence:
    """Evidence in which the one failing test runs every line of every file."""
    runs = {path: dict.fromkeys(range(1, text.count("\n") + 1), 1) for path, text in texts.items()}
    tests = failing or (failed("tests/test_a.py::test_a", ""),)
    return Evidence(texts, tests, specification, runs, **more)


def failed(name: str, message: str, *frames: tuple[str, int, str]) -> SeenTest:
    return SeenTest(name, False, message=message, frames=list(frames))


def place(found: Evidence, name: str) -> CodePlace:
    return next(place for place in found.places if place.function.name == name)


def program(text: str) -> str:
    return ast.dump(ast.parse(text))
