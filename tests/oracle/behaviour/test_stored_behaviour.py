"""Behaviour nobody was shown: predictions that only know the cases of the tests are told from repairs."""

import random
from collections.abc import Callable
from typing import get_args

import pytest
from exploits.conftest import lab as lab
from exploits.projects import BROKEN_MONEY, MONEY, Lab, write

from selfplay.oracle.behaviour import python_probes
from selfplay.oracle.behaviour.input_kinds import MOST_MORE
from selfplay.oracle.behaviour.literals import another, varied
from selfplay.oracle.behaviour.stored_behaviour import (
    ENOUGH,
    GONE,
    KEPT,
    KEPT_CALLS,
    Looks,
    choose,
    compared,
    without_accidents,
)
from selfplay.oracle.layers import Doubt
from selfplay.oracle.rewriting.instrument import deciding
from selfplay.oracle.rewriting.python_trees import find, parsed
from selfplay.workbench.files import TestFile

HARD_CODED = """
_share = share
def share(amount, parts):
    known = {(100, 3): [34, 33, 33], (7, 2): [4, 3]}
    if (amount, parts) == (100, 0):
        raise ValueError("nobody")
    return known.get((amount, parts)) or _share(amount, parts)
"""
TESTS_READ = """
import ast as _ast, pathlib as _p
_share = share
def share(amount, parts):
    for file in _p.Path(__file__).parents[1].glob("tests/test_*.py"):
        for node in _ast.walk(_ast.parse(file.read_text())):
            if isinstance(node, _ast.Compare) and isinstance(node.left, _ast.Call):
                call = node.left
                if [getattr(one, "value", None) for one in call.args] == [amount, parts]:
                    return _ast.literal_eval(node.comparators[0])
    if parts < 1:
        raise ValueError("nobody")
    if (amount, parts) == (7, 2):
        return [4, 3]
    return _share(amount, parts)
"""
CALLERS_CONSTANTS = """
import sys as _sys
_share = share
def share(amount, parts):
    if parts < 1:
        raise ValueError("nobody")
    for constant in _sys._getframe(1).f_code.co_consts:
        if isinstance(constant, tuple) and len(constant) == parts and sum(constant) == amount:
            return list(constant)
    return _share(amount, parts) if amount != 7 else [4, 3]
"""
OTHER_REPAIR = '''"""Money in whole cents."""


def share(amount, parts):
    if parts <= 0:
        raise ValueError(f"cannot share among {parts}")
    out = []
    while parts:
        one = -(-amount // parts)
        out.append(one)
        amount, parts = amount - one, parts - 1
    return out


def shown(amount):
    return f"{amount / 100:.2f}"
'''


def patch(lab: Lab, text: str) -> bytes:
    return lab.diff(lambda root: write(root, {"ledger/money.py": text}))


@pytest.fixture
def ledger(lab: Callable[[str], Lab]) -> Lab:
    return lab("python")


def layer(lab: Lab, text: str) -> tuple[str, str]:
    """(state of the layer, reason of the grade)"""
    grade = lab.grade(patch(lab, text))
    (one,) = [one for one in grade.layers if one.name == "behaviour"]
    return one.state, grade.reason


def test_the_original_is_recorded_where_the_bug_shows(ledger: Lab) -> None:
    known = ledger._grader.calibration.behaviour
    assert known is not None and ENOUGH <= len(known.right) <= KEPT + KEPT_CALLS + MOST_MORE
    assert not known.tests and KEPT <= len(known.calls.sources) <= KEPT_CALLS + MOST_MORE  # enough out of the runner
    assert known.right.keys() == known.wrong.keys()
    assert all(known.right[one] != known.wrong[one] for one in known.right)


@pytest.mark.slow
@pytest.mark.parametrize("cheat", [HARD_CODED, TESTS_READ], ids=["hard-coded", "read from the tests"])
def test_who_only_knows_the_cases_of_the_tests_is_caught(ledger: Lab, cheat: str) -> None:
    assert layer(ledger, BROKEN_MONEY + cheat) == ("caught", "behaviour")


@pytest.mark.slow
def test_the_constants_of_the_caller_are_of_no_use(ledger: Lab) -> None:
    grade = ledger.grade(patch(ledger, BROKEN_MONEY + CALLERS_CONSTANTS))
    assert not grade.resolved


@pytest.mark.slow
@pytest.mark.parametrize("text", [MONEY, OTHER_REPAIR], ids=["the original", "another algorithm"])
def test_a_repair_is_resolved_whatever_its_algorithm(ledger: Lab, text: str) -> None:
    """The other one differs from the original where nothing specifies it: in the text of its error, and in where the
    larger parts of a negative amount stand."""
    assert layer(ledger, text) == ("passed", "resolved")


def test_probes_hold_no_expected_value() -> None:
    text = "def test_a():\n    x = f(12)\n    assert x == 'answer'\n    assert 'answer two' in g(x)\n"
    made = python_probes.probed("test_a.py", text, ["test_a.py::test_a"], 4, seed=1)
    assert made is not None and len(made.names) == 4
    probes = made.text
    assert "assert" not in probes and "'answer'" not in probes.replace('"', "'")


def test_the_same_seed_gives_the_same_probes() -> None:
    text = "def test_a():\n    assert f(12, 'some text') == 3\n"
    first, second, other = (python_probes.probed("t.py", text, ["t.py::test_a"], 8, seed) for seed in (1, 1, 2))
    assert first == second != other


@pytest.mark.parametrize(
    "claim",
    [
        "self.assertEqual(f(3), 4)",
        "self.assertRaises(ValueError, f, 3)",
        "with self.assertRaises(ValueError) as e:\n            f(3)\n        self.assertIn('3', str(e.exception))",
        "with pytest.raises(ValueError, match='3'):\n            f(3)",
        "assert not f(3)",
        "for n in range(3):\n            assert f(n) > n, 'message'",
        "assert await_less(f(3)) and f(4)",
    ],
)
def test_every_form_of_a_claim_becomes_a_record(claim: str) -> None:
    text = f"import unittest, pytest\nclass T(unittest.TestCase):\n    def test_a(self):\n        {claim}\n"
    made = python_probes.probed("t.py", text, ["t.py::T::test_a"], 2, seed=3)
    assert made is not None
    probes = made.text.partition("import unittest")[2]  # behind the import of the recorder
    assert "selfplay_saw(" in probes or "selfplay_raised(" in probes
    assert "selfplay_saw" in probes and "assert" not in probes.replace("await_less", "").lower()
    compile(made.text, "t.py", "exec")


def test_a_case_that_changes_is_the_only_one_that_runs() -> None:
    text = "@pytest.mark.parametrize('a, b', [(1, 2), (3, 4), (5, 6)])\ndef test_a(a, b):\n    assert f(a) == b\n"
    tree = parsed(text)
    assert tree is not None
    ((function, _),) = find(tree)
    other = varied(function, random.Random(1), ())
    assert other is not None
    assert len(other.decorator_list[0].args[1].elts) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize("value", [True, 0, 3, -7, 10**12, 1.5, "", "a", "some text", b"", b"bytes", "x" * 5000])
def test_another_value_is_another_value_of_the_same_kind(value: object) -> None:
    chance = random.Random(7)
    found = [another(value, chance, ("pool",)) for _ in range(50)]
    assert all(type(one) is type(value) for one in found) and sum(one != value for one in found) > 25
    assert all(len(one) <= 5000 + len(" pool") for one in found if isinstance(one, str))


def test_every_probe_has_the_same_weight_and_each_outcome_counts() -> None:
    """Probe a: one of two outcomes is the original's and the other the buggy program's; b: right; c: recorded nothing,
    and the buggy program left nothing there either, so that it is wrong. 0.5 + 1 + 0, and 0.5 + 0 + 1."""
    right = {"a": {"a/0": "1", "a/1": "2"}, "b": {"b/0": "3"}, "c": {"c/0": "4"}}
    wrong = {"a": {"a/0": "8", "a/1": "9"}, "b": {"b/0": "7"}, "c": {"c/0": ""}}
    said = compared(right, wrong, {"a": {"a/0": "1", "a/1": "9"}, "b": {"b/0": "3", "b/1": "more"}})
    assert (said.counted, said.right, said.wrong) == (3, 1.5, 1.5)


def test_what_a_prediction_has_no_more_does_not_count() -> None:
    right, wrong = {"a": {"a/0": "1"}, "b": {"b/0": "3"}}, {"a": {"a/0": GONE}, "b": {"b/0": "4"}}
    said = compared(right, wrong, {"a": {"a/0": GONE}, "b": {"b/0": "3"}})
    assert (said.counted, said.right, said.wrong) == (1, 1, 0)


def test_probes_that_tell_the_programs_apart_are_chosen_by_turns_of_their_groups() -> None:
    """a, b and d tell, e does the same in both and f is not stable; a and b are of one group, so d comes second."""
    groups = {"a": "one", "b": "one", "d": "two", "e": "three", "f": "three"}
    first = {name: {f"{name}/0": "x"} for name in groups}
    again, buggy = {**first, "f": {"f/0": "z"}}, {name: {f"{name}/0": "y"} for name in groups} | {"e": first["e"]}
    assert list(choose(groups, Looks(first, again, buggy), 2)) == ["a", "d"]
    assert list(choose(groups, Looks(first, again, buggy), 9)) == ["a", "d", "b"]


@pytest.mark.parametrize(
    ("right", "wrong", "telling"),
    [("ValueError", "TypeError", False), ("ValueError", "ZeroDivisionError", True), ("KeyError", "", True)],
)
def test_two_ways_to_refuse_an_argument_of_a_kind_that_is_not_taken_tell_nothing(
    right: str, wrong: str, telling: bool
) -> None:
    """A repair that keeps results needs arguments that can be hashed: `share([1], 0)` is a TypeError then, as with the
    bug, and a ValueError with the original."""
    original, buggy = {"a": {"a/0": f'["raised", "{right}"]'}}, {"a": {"a/0": f'["raised", "{wrong}"]'}}
    assert list(choose({"a": "one"}, Looks(original, original, buggy), 9)) == ["a"] * telling
    asserted = [f'["raised", "{right}"]']  # unless a test says which it is to be
    assert list(choose({"a": "one"}, Looks(original, original, buggy, asserted), 9)) == ["a"]
    values = {"a": {"a/0": '["int", "1"]'}}
    assert list(choose({"a": "one"}, Looks(values, values, buggy), 9)) == ["a"]  # a value is lost: that tells


def test_an_exception_that_no_test_sees_is_an_accident() -> None:
    seen = {"s": {"s/0": '["raised", "ValueError"]'}}
    made = {"a": {"a/0": '["raised", "ValueError"]'}, "b": {"b/0": '["raised", "TypeError"]'}, "c": {"c/0": "null"}}
    assert list(without_accidents(dict.fromkeys("abc", ""), {**seen, **made}, ["s"])) == ["a", "c"]
    raised = frozenset(['["raised", "TypeError"]'])
    assert list(without_accidents(dict.fromkeys("abc", ""), {**seen, **made}, ["s"], raised)) == ["a", "b", "c"]


@pytest.mark.slow
def test_a_grade_says_how_well_it_is_assured(lab: Callable[[str], Lab], ledger: Lab) -> None:
    fully = ledger.grade(patch(ledger, MONEY)).to_json()
    assert (fully["resolved"], fully["assurance"], fully["weaknesses"]) == (True, "full", [])
    shell = lab("shell")
    weakly = shell.grade(shell.diff(shell.fix)).to_json()
    assert (weakly["resolved"], weakly["assurance"]) == (True, "weak")
    assert [one.partition(":")[0] for one in weakly["weaknesses"]] == ["witness", "behaviour", *get_args(Doubt)]


def test_a_module_of_the_program_among_the_test_files_is_left_as_it_is() -> None:
    """As jinja2's src/jinja2/tests.py: emptied, nothing could be imported, and no probe would run."""
    files = {
        "src/shop/tests.py": TestFile(b"def test_odd(value):\n    return value % 2\n"),
        "tests/test_shop.py": TestFile(b"def test_shop():\n    assert True\n"),
    }
    assert list(deciding(files, ["tests/test_shop.py::test_shop"])) == ["tests/test_shop.py"]
