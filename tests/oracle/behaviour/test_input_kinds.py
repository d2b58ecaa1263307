"""Each kind of input counts by itself, and what calls do must not change when they are made many times."""

from selfplay.oracle.behaviour.call_runner import AGAIN, Calls
from selfplay.oracle.behaviour.compare import judge, tiring
from selfplay.oracle.behaviour.input_kinds import MOST_MORE, kinds_of, lacking, strata
from selfplay.oracle.behaviour.stored_behaviour import Behaviour, worn

NAMES = [f"c{number}" for number in range(50)]


def outcomes(said: str, names: list[str]) -> dict[str, dict[str, str]]:
    return {name: {f"{name}/0": said} for name in names}


KNOWN = Behaviour(
    calls=Calls(sources=dict.fromkeys(NAMES, "m.f(1)")), novel=frozenset(NAMES[:9]),
    kinds={"long texts": tuple(NAMES[-3:])}, right=outcomes("1", NAMES), wrong=outcomes("2", NAMES),
)  # fmt: skip


def test_the_kinds_of_inputs() -> None:
    assert kinds_of(f"m.f('{'a' * 60}', [1, -2000])") == {"long texts", "large numbers", "negative numbers"}
    assert kinds_of("m.f('\u2603', key=0.5)") == {"texts of other letters", "broken numbers"}
    assert kinds_of("m.f('', True, None, 'ab', 3)") == {"empty"}
    assert kinds_of("m.f([None, 'ab'])") == kinds_of("m.f(('a', [None]))") == {"None among items"}
    assert kinds_of(f"m.f({[*range(12)]})") == {"many items", "empty"}


def test_a_kind_counts_with_three_calls_and_some_only_where_tests_use_it() -> None:
    calls = {"a": "m.f(-1)", "b": "m.f(-2)", "c": "m.f(-3)", "d": "m.f(5000)", "e": "m.f(6000)"}
    lines = {"a": "[3]", "d": "[3]", "e": "[3]", "b": "[4]"}
    assert strata(calls, lines, ["m.f(1)"], {"[3]"}) == {"lines [3]": ("a", "d", "e")}
    assert strata(calls, lines, ["m.f(1)"], {"[4]"}) == {}, "no test runs these lines: they may be unspecified"
    assert strata(calls, {}, ["m.f(-9)"], ()) == {"negative numbers": ("a", "b", "c")}
    assert strata(calls | {"f": "m.f(7000)"}, {}, [], ()) == {"large numbers": ("d", "e", "f")}


def test_calls_are_added_until_each_kind_has_three() -> None:
    kinds = {"long texts": ("a", "b", "c", "d"), "lines [3]": ("a", "e", "f")}
    assert lacking(kinds, ["a", "b"]) == ["e", "f", "c"]
    assert lacking(kinds, ["a", "b", "c", "e", "f"]) == []
    many = {str(number): (f"{number}a", f"{number}b", f"{number}c") for number in range(30)}
    assert len(lacking(many, [])) == MOST_MORE


def test_a_program_that_is_wrong_for_one_kind_alone_is_caught() -> None:
    """Three of fifty are less than the tenth that may be wrong, and all of their kind; two of three may be. Whether it
    is wrong as the buggy program is, or otherwise, is the same."""
    for said in ("2", "3"):
        wrong = outcomes("1", NAMES) | outcomes(said, NAMES[-3:])
        layer = judge(KNOWN, wrong)
        assert layer.state == "caught" and "on 3 of 3 inputs of one kind, long texts" in layer.reason
    assert judge(KNOWN, wrong | outcomes("1", NAMES[-1:])).state == "passed"
    assert judge(KNOWN, outcomes("1", NAMES) | outcomes("2", NAMES[20:23])).state == "passed"


def test_what_changes_after_many_calls_is_caught() -> None:
    """Of fifty calls five may; a call that was not made again says nothing."""
    first = outcomes("1", NAMES)
    later = {name + AGAIN: {f"{name}{AGAIN}/0": "2" if at < 6 else "1"} for at, name in enumerate(NAMES[:40])}
    assert worn({**first, **later}, KNOWN.right) == NAMES[:6]
    layer = tiring(KNOWN, {**first, **later})
    assert layer is not None and layer.state == "caught" and "6 of 50" in layer.reason
    later["c0 again"] = {"c0 again/0": "1"}
    assert tiring(KNOWN, {**first, **later}) is None is tiring(KNOWN, first)
