"""A repair may refuse what no test passes in a place; what tests do pass there it must answer."""

import ast
from dataclasses import replace

import pytest

from selfplay.oracle.behaviour.agreeing_calls import damage, guards_of
from selfplay.oracle.behaviour.call_runner import Calls
from selfplay.oracle.behaviour.call_source import value_of
from selfplay.oracle.behaviour.compare import judge, unknown
from selfplay.oracle.behaviour.stored_behaviour import Behaviour, Guards, refused, without_odd
from selfplay.oracle.behaviour.unusual_inputs import of_another_type, sorts_of, unusual

SHOWN = ["m.wrapped('aa bb', 5)", "m.wrapped('', 7)", "m.table([['a']], gap=2)", "m.Box(3).put('a', -1)",
         "m.strip('a', True)"]  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [
        "m.wrapped('other words', 90)", "m.table([['b', 'c'], ['d']], gap=1)", "m.Box(4).put('b', -9)",
        "selfplay_s0.f()", "m.strip('b', False)",
    ],
)  # fmt: skip
def test_other_values_of_the_sorts_that_tests_pass_are_usual(call: str) -> None:
    assert unusual({"c1": call}, SHOWN) == frozenset()


@pytest.mark.parametrize(
    "call",
    [
        "m.wrapped('aa', -1)", "m.wrapped('aa', 0)", "m.wrapped('', '')", "m.wrapped('aa', 1.5)", "m.wrapped(None, 5)",
        "m.wrapped('aa', True)", "m.table([[]], gap=2)", "m.table([['']], gap=2)", "m.table((['a'],), gap=2)",
        "m.table([['a']], gap=-2)", "m.Box(3).put('a', 1)", "m.Box(-3).put('a', -1)", "m.other('aa')",
    ],
)  # fmt: skip
def test_another_type_an_empty_and_a_negative_input_are_unusual(call: str) -> None:
    assert unusual({"c1": call}, SHOWN) == {"c1"}


def test_an_object_of_a_derived_class_is_one_of_its_own() -> None:
    """Whoever takes an object of the program's takes those of derived classes, and may not refuse them; of Python's own
    types a repair may ask for one exactly."""
    shown = ["m.merge(m.Trie('a'), 1)"]
    made = {
        "own": "m.merge(type('Kin', (m.Trie,), {})('b'), 2)",
        "python's": "m.merge(m.Trie('a'), type('Kin', (int,), {})(2))",
    }
    assert unusual(made, shown) == {"python's"}


def test_the_place_of_an_input_is_its_function_and_argument() -> None:
    assert {*sorts_of("m.f([1, -2], key={'a': m.g(())})")} == {
        ("m.f 0", "List"), ("m.f 0 item", "int"), ("m.f 0 item", "int negative"), ("m.f key", "Dict"),
        ("m.f key item", "str"), ("m.f key item", "m.g"), ("m.g 0", "Tuple empty"),
    }  # fmt: skip


@pytest.mark.parametrize("source", ["not 'a'", "-'a'", "~1", "+'a'"])
def test_only_minus_of_a_number_is_a_constant(source: str) -> None:
    node = ast.parse(source, mode="eval").body
    assert value_of(node) is node


NAMES = [f"c{at}" for at in range(6)]
KNOWN = Guards(
    Calls(sources={name: f"m.f({at})" for at, name in enumerate(NAMES)}), {name: {f"{name}/0": "1"} for name in NAMES},
    unusual=frozenset(NAMES[:4]),
)  # fmt: skip


@pytest.mark.parametrize(
    ("said", "names", "stopped"),
    [
        ('["raised", "ValueError"]', NAMES[:4], False),
        ('["raised", "ValueError"]', NAMES[:5], False),
        ('["raised", "ValueError"]', NAMES[4:], True),
        ('["list", "0"]', NAMES[:4], True),
    ],
)
def test_an_unusual_input_may_be_refused_but_not_answered_otherwise(said: str, names: list[str], stopped: bool) -> None:
    """Four of six calls are unusual. Where these are refused, two are left, too few to judge by; where none is, 1.2 of
    six may differ."""
    seen = {name: {f"{name}/0": said if name in names else "1"} for name in NAMES}
    assert (damage(KNOWN, seen) is not None) == stopped


def test_what_the_original_refuses_of_another_type_is_no_call() -> None:
    """`while parts: parts -= 1` never ends for 0.5, which no test passes: the calls took all memory, and an honest
    repair left no record."""
    calls = {"a": "m.share(5, 0.5)", "b": "m.share(5, 0)", "c": "m.share(5.0, 2)", "d": "m.share(5, -1)"}
    right = {name: {f"{name}/0": '["raised", "ValueError"]'} for name in "abd"} | {"c": {"c/0": "[]"}}
    odd = of_another_type(calls, ["m.share(5, 2)", "m.share(5, 0)"])
    assert odd == {"a", "c"} and refused(odd, right) == {"a"}
    kept = guards_of(Calls(), calls, right, ["m.share(5, 2)", "m.share(5, 0)"])
    assert kept.right.keys() == {"b", "c", "d"} == kept.calls.sources.keys() and kept.unusual == {"c", "d"}


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ('["raised", "TypeError"]', "passed"),
        ("3", "unavailable"),  # another answer than both programs give: nobody says that it is wrong
        ("2", "caught"),  # the buggy program's
    ],
)
def test_an_input_of_another_type_refuses_no_repair(said: str, state: str) -> None:
    """A repair that counts with `range` refuses fractions, which the original divides without a look at them: 9 of 42
    inputs were fractions in one calibration, and it was refused."""
    names = [f"c{number}" for number in range(40)]
    right, wrong = ({name: {f"{name}/0": f"{at}{answer}"} for at, name in enumerate(names)} for answer in "12")
    known = Behaviour(calls=Calls(sources=dict.fromkeys(names, "m.f(1)")), novel=frozenset(names), right=right,
                      wrong=wrong, odd=frozenset(names[:9]))  # fmt: skip
    seen = {name: {f"{name}/0": f"{at}2" if said == "2" else said} for at, name in enumerate(names[:9])}
    judged, others = without_odd(known, {**right, **seen})
    assert unknown(judged, others, judge(known, {**right, **seen})).state == state
    assert judge(replace(known, odd=frozenset()), {**right, **seen}).state == "caught"


@pytest.mark.parametrize("usual", [3, 0])
def test_too_few_inputs_of_the_tests_types_judge_nobody(usual: int) -> None:
    names = [f"c{number}" for number in range(12)]
    right, wrong = ({name: {f"{name}/0": answer} for name in names} for answer in "12")
    known = Behaviour(calls=Calls(sources=dict.fromkeys(names, "m.f(1)")), right=right, wrong=wrong,
                      odd=frozenset(names[usual:]))  # fmt: skip
    refusing = {name: {f"{name}/0": '["raised", "TypeError"]'} for name in names[usual:]}
    said = judge(known, {**right, **refusing})
    assert (said.state, said.reason) == (
        "unavailable", f"{usual} probes have a target that exists and an input of a type that tests pass",
    )  # fmt: skip
