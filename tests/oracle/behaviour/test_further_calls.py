"""Calls of one object, one after the other, show what is wrong with a state."""

from pathlib import Path

import pytest
from exploits.projects import Lab, Project, write

from selfplay.oracle.behaviour.further_calls import KEPT_FURTHER
from selfplay.oracle.behaviour.sequences import SEQUENCE
from selfplay.oracle.behaviour.unusual_inputs import of_another_type
from selfplay.repository.suites.pytest_suite import PARSER, render_script
from selfplay.sandbox import Backend

SHELF = '''"""A shelf with a limited number of places."""


class Shelf:
    def __init__(self, places):
        if places < 1:
            raise ValueError("no place")
        self.places, self.things = places, {}

    def put(self, name, thing):
        self.things.pop(name, None)
        while len(self.things) >= self.places:
            del self.things[next(iter(self.things))]
        self.things[name] = thing
        return len(self.things)

    def take(self, name):
        return self.things.pop(name)
'''
TESTS = """import pytest

from store import shelf


def test_put():
    assert shelf.Shelf(2).put("a", 1) == 1
    assert shelf.Shelf(1).put("b", "c") == 1


def test_the_oldest_goes():
    one = shelf.Shelf(2)
    for name in "abc":
        one.put(name, 1)
    assert sorted(one.things) == ["b", "c"]


def test_take():
    with pytest.raises(KeyError):
        shelf.Shelf(2).take("a")


def test_no_place():
    for places in (0, -1, -7):
        with pytest.raises(ValueError):
            shelf.Shelf(places)
"""
NAME = "tests/test_shelf.py"
PUT_AGAIN = SHELF.replace("        self.things.pop(name, None)\n", "")


def test_an_argument_of_another_type_is_no_kind_of_input_of_its_own() -> None:
    shown = ["m.f('a', {'b': [1]})", "m.f('c', k=2)"]
    calls = {"same": "m.f('', {})", "item": "m.f('a', {'b': [None]})", "type": "m.f('a', ())", "new": "m.f('a', j=1)"}
    assert of_another_type(calls, shown) == {"type", "new"}


@pytest.mark.slow
def test_a_state_that_is_wrong_after_some_steps_is_weakly_assured(backend: Backend, tmp_path: Path) -> None:
    """The repair forgets that a name may be put twice, which no test does and no single call shows."""
    broken = SHELF.replace('        if places < 1:\n            raise ValueError("no place")\n', "")
    files = {
        "store/__init__.py": "",
        "store/shelf.py": SHELF,
        NAME: TESTS,
        "pyproject.toml": "[project]\nname='store'\nversion='1'\n",
    }
    project = Project(
        files, ("store/shelf.py", broken), {NAME: TESTS.partition("\n\ndef test_no_place")[0] + "\n"},
        render_script([NAME]), PARSER, (f"{NAME}::test_no_place",),
        tuple(f"{NAME}::{name}" for name in ("test_put", "test_the_oldest_goes", "test_take")),
    )  # fmt: skip
    lab = Lab("python", backend, tmp_path, project)
    known = lab._grader.calibration.behaviour
    assert known is not None and len(known.further.right) > KEPT_FURTHER // 4
    assert any(SEQUENCE in source for source in known.further.calls.sources.values())
    fixed, wrong = (
        lab.grade(lab.diff(lambda root, text=text: write(root, {"store/shelf.py": text})))
        for text in (SHELF, PUT_AGAIN)
    )
    assert fixed.resolved and not any("differential" in one for one in fixed.weaknesses)
    assert wrong.resolved and any(one.startswith("differential: it does something else") for one in wrong.weaknesses)
