"""Calls of the program far from those of the tests: how they are made, and from which calls of the tests."""

import ast
import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from selfplay.oracle.behaviour.borrowed import helped, helper
from selfplay.oracle.behaviour.call_probes import Asked, by_novelty, shape_of, varied_calls
from selfplay.oracle.behaviour.call_source import target_of
from selfplay.oracle.behaviour.traced_calls import Entered, _watched, read_entered

SEEN = ("m.split('a; b', strip=True)", "m.split('x y z')", "m.Parser(3).parse(['a', 2], None)")


def test_other_calls_are_many_and_none_of_those_that_were_seen() -> None:
    made = varied_calls(SEEN, (), 80, 1)
    assert len(set(made)) == 80 and not set(made) & set(SEEN)
    assert {target_of(one) for one in made} == {"m.split", "m.Parser.parse", "m.Parser.parse.parse"}
    for one in made:
        ast.parse(one, mode="eval")
    assert varied_calls(SEEN, (), 80, 1) == made != varied_calls(SEEN, (), 80, 2)


def test_what_the_code_asks_for_is_put_into_inputs() -> None:
    """A text gets the word, a number comes next to the number, and a list has so many items."""
    made = varied_calls(["m.split('one two')", "m.first([7, 8])", "m.wait(50)"], (), 800, 1, Asked(("halt", 20)))
    assert any("'halt two'" in one for one in made) and "m.split('halt')" in made
    assert {"m.wait(19)", "m.wait(20)", "m.wait(21)"} <= {*made}
    assert any(one == f"m.first({[7, 8] * 10})" for one in made)
    assert not any("halt" in one for one in varied_calls(SEEN, (), 400, 1))


def test_a_number_that_the_code_asks_for_is_also_a_length_and_a_character() -> None:
    """`len(value) > 128` and `ord(c) > 0xFFFF`; a text that it asks for is perhaps a set of characters."""
    made = varied_calls(["m.parse('#ab')"], (), 1500, 1, Asked((128, 0xFFFF, "+-")))
    given = [ast.literal_eval(one[8:-1]) for one in made if one.startswith("m.parse(") and one.endswith("')")]
    assert {127, 128, 129} <= {*map(len, given)}
    assert {chr(0xFFFE), chr(0xFFFF), chr(0x10000)} <= {character for text in given for character in text}
    assert {"+", "-"} <= {*given}


def test_a_call_without_inputs_has_no_others() -> None:
    assert varied_calls(["m.now()"], (), 10, 1) == []


def test_other_blanks_other_equals_and_what_lies_between() -> None:
    made = {*varied_calls(["m.split('one two')", "m.first([7, 8])", "m.wait(50)", "m.at(2.5)", "m.at(7)"], (), 1200, 1)}
    assert {
        r"m.split('one\ttwo')",
        r"m.split('one\r\ntwo')",
        "m.at(7.5)",
        "m.at(6.5)",
        "m.wait(50.0)",
    } <= made and "m.wait(50.5)" not in made
    assert {"m.first([7, 7.0, 8])", "m.first([7, 8.0, 8])"} <= made


def test_digits_of_other_scripts_and_letters_apart_are_drawn() -> None:
    """`int(x)`, `isdigit` and `[0-9]` in the place of `\\d` were right for all that was drawn."""
    made = {*varied_calls(["m.read('v12')", "m.slug('é')"], (), 1500, 1)}
    read = [ast.literal_eval(one[7:-1]) for one in made if one.startswith("m.read('v") and one.endswith("')")]
    assert any(one[1:].isdecimal() and not one.isascii() for one in read if one[1:])
    assert any(one[1:].isdigit() and not one[1:].isdecimal() for one in read if one[1:])
    assert "m.slug('e\u0301')" in made


@pytest.mark.parametrize("value", ["'a b'", "[1, 2]", "(1, 2)", "{'a': 1}", "2.5", "b'ab'"])
@pytest.mark.parametrize(
    "asked", [lambda one, base: type(one) is base, lambda one, base: bool(one), lambda one, base: one != object()]
)
def test_values_of_derived_types_are_drawn(value: str, asked: Callable[[Any, type], bool]) -> None:
    """What asks for the type itself, for truth or for another value answers otherwise for one of them."""
    plain = ast.literal_eval(value)
    made = [one for one in varied_calls([f"m.use({value})"], (), 600, 1) if one.startswith("m.use(type(")]
    drawn = []
    for one in made:
        with contextlib.suppress(TypeError):  # its argument may have been changed again, to one that its type refuses
            drawn.append(eval(one, {"m": SimpleNamespace(use=lambda given=None: given)}))
    kin = [one for one in drawn if isinstance(one, type(plain)) and type(one) is not type(plain)]
    assert asked(plain, type(plain)) and not all(asked(one, type(plain)) for one in kin)


ARGUMENTS = (
    "f'{n!r:>{w}} and {m.f(1)}'", "f'a' 'b'", "lambda x=1, *y: f'{x}'", "{**{'a': 1}, 'b': [2]}", "{1, 2, *[3]}",
    "[x for x in [1, 2] if x > 1]", "{x: 1 for x in (1, 2)}", "*[1, 2], k='v'", "(y := 4)", "1 if m.f('a') else 'b'",
    "'x'[1:2]", "b'b'", "...", "2j", "-1.5", "not 3", "0 < 1 < 2", "'a' or 'b' and 1", "m.C(1).D[2]('e')", "**{'a': 1}",
    f"{10**400}", f"-{10**4000}", "1e400", "-1e308",
)  # fmt: skip


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_arguments_of_any_form_are_varied(argument: str):
    """What a test gives may be any expression; every change of it is a call again."""
    for made in varied_calls([f"m.f({argument}, z=1)", "m.f('a', [1])"], (), 150, 1, Asked(("halt", 20))):
        assert isinstance(ast.parse(made, mode="eval").body, ast.Call)


def test_calls_are_alike_by_target_kinds_and_length() -> None:
    assert shape_of("m.f('ab')") == shape_of("m.f('cd')") != shape_of("m.f(12)")
    assert shape_of("m.f('ab')") != shape_of(f"m.f({'ab' * 40!r})")


def test_what_is_newest_comes_first() -> None:
    sources = {"same": "f('abcdef')", "new": "f('uvwxyz')", "half": "f('abcxyz')"}
    assert by_novelty(sources, ["f('abcdef')"]) == ["new", "half", "same"]


def test_what_tests_are_seen_to_do_is_read_strictly() -> None:
    assert read_entered(b'{"calls": 3}') == read_entered(b"") == Entered()
    found = read_entered(
        b'{"python": "p", "paths": [], "modules": {}, "calls": [["m.f(1)", "t"]], "reached": {"t": ["d"]}}'
    )
    assert found.calls == (("m.f(1)", "t"),) and found.digests == {"d"}


def test_calls_of_the_tests_of_the_bug_come_first() -> None:
    found = Entered(calls=(("m.a()", "test_a"), ("m.b()", "test_b"), ("m.c()", "test_c")))
    assert found.ordered(1, ["t.py::test_b[x]"], 5) == ("m.b()",)
    assert set(found.ordered(9, [], 5)) == {"m.a()", "m.b()", "m.c()"}


def test_a_decorator_that_cannot_be_written_hides_no_test() -> None:
    """Before 3.12, Python cannot write the f-string of this tree."""
    tree = ast.parse("@mark(f\"{x.replace('\xa0', ' ')}\")\ndef helper(): pass\n\ndef test_one(): pass\n")
    assert [function.name for function in _watched(tree)] == ["test_one"]


TESTS = """import pytest
SIZES = [1, 2]
def grown(n): return n + SIZES[0]
def other(n): return grown(n)
def checked(n): return pytest.approx(n)
def test_a(): assert other(1) == 2
"""


def test_a_helper_is_what_a_call_needs_and_no_test() -> None:
    assert helper(TESTS, ["other"]) == (
        "SIZES = [1, 2]\n\ndef grown(n):\n    return n + SIZES[0]\n\ndef other(n):\n    return grown(n)\n"
    )
    assert helper(TESTS, ["checked"]) == helper("def (", ["x"]) == helper(TESTS, ["missing"]) == ""


def test_calls_take_helpers_under_other_names() -> None:
    (calls, _), cut = helped((["m.f(h.other, 1)", "m.f(2)", "m.f(g.checked(1))"], []), {"h": TESTS, "g": TESTS})
    assert calls[1:] == ["m.f(2)"] and "other" not in calls[0] and "test" not in cut["h"] and list(cut) == ["h"]
    name = calls[0].removeprefix("m.f(h.").partition(",")[0]
    space: dict[str, Callable[[int], int]] = {}
    exec(cut["h"], space)
    assert space[name](4) == 5
