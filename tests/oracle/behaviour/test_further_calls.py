"""Calls of one object, one after the other, show what is wrong with a state."""

import ast
from pathlib import Path
from typing import Any

import pytest
from exploits.projects import Lab, Project, write

from selfplay.oracle.behaviour.further_calls import (
    DIFFERENT,
    HELPER,
    KEPT_FURTHER,
    SEQUENCE,
    SEQUENCES,
    sequences,
)
from selfplay.oracle.behaviour.unusual_inputs import of_another_type
from selfplay.repository.suites.pytest_suite import PARSER, render_script
from selfplay.sandbox import Backend

CALLS = ["m.Box(2).put('a', 1)", "m.Box(3).put('b', x=2)", "m.Box(2).get('a')", "m.f(1)", "m.Other().go()"]
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


def test_sequences_make_an_object_as_tests_do_and_use_it() -> None:
    """`Other` has one method only: a single call shows all of it. What no test makes is not made."""
    more = ["m.Box(-1).get('c')", "m.Third().go()", "m.Third().stop()"]
    made = sequences(CALLS, more, 1)
    assert len(made) > SEQUENCES // 2 and sequences(CALLS, more, 1) == made != sequences(CALLS, more, 2)
    for call in made:
        thing, times, *steps = ast.parse(call, mode="eval").body.args  # type: ignore[attr-defined]
        assert ast.unparse(thing) in ("m.Box(2)", "m.Box(3)") and times.value in (1, 8, 60)
        assert {ast.unparse(one.body.func) for one in steps} <= {"o.put", "o.get"}
    assert sequences(["m.f(1)", "m.Other().go()"], [], 1) == []


def test_a_function_that_is_returned_is_called() -> None:
    made = sequences(["m.cached({})(1, 'a')", "m.cached({})(2)", "m.cached({}).clear()"], [], 1)
    assert any("several(m.cached({})" in call and "o(" in call and "o.clear()" in call for call in made)


def test_the_steps_of_a_sequence_concern_few_things() -> None:
    calls = [f"m.Box(2).put({at}, 'n{at}')" for at in range(40)] + ["m.Box(2).get(3)"]
    for call in sequences(calls, [], 1):
        steps = [one for one in ast.walk(ast.parse(call)) if isinstance(one, ast.Lambda)]
        values = {node.value for step in steps for node in ast.walk(step) if isinstance(node, ast.Constant)}
        assert len(values) <= 2 * DIFFERENT


def test_the_helper_tells_each_step_of_the_last_round() -> None:
    space: dict[str, Any] = {}
    exec(HELPER, space)
    assert space["several"]([], 3, lambda o: o.append(1), lambda o: len(o), lambda o: o[9]) == (
        [None, 3, "IndexError"], [1, 1, 1],
    )  # fmt: skip


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
