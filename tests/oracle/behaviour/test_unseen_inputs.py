"""Inputs of which nothing stands in the tests, and what is judged by them."""

import ast
import random
from dataclasses import replace

import pytest

from selfplay.oracle.behaviour.call_runner import Called, Calls
from selfplay.oracle.behaviour.compare import judge, judge_calls, unknown
from selfplay.oracle.behaviour.literals import inputs
from selfplay.oracle.behaviour.python_probes import Records, probed
from selfplay.oracle.behaviour.stored_behaviour import ENOUGH, Behaviour, most_alike
from selfplay.oracle.behaviour.unseen_inputs import Novel, Novelty, all_novel, is_novel, novel_test
from selfplay.oracle.layers import passed
from selfplay.oracle.new_code.suspicious_apis import MOST_DATA, Data, data_of, new_data

SHOWN = "assert f('one two', 1, [2, 3], {}) == g(None, True, -1)"


def test_every_input_is_another_one() -> None:
    found = all_novel(["m.f('one two', 1, key=[2, 3])"], 20, 5, Novelty(SHOWN))
    assert len(found) == 20 and all(is_novel(one, SHOWN) for one in found)


def test_the_same_stays_the_same_and_signs_stay() -> None:
    novel = Novel(Novelty(SHOWN), random.Random(1))
    assert novel.value("one, one") == novel.value("one, one")
    first, _, second = str(novel.value("two-two")).partition("-")
    assert first == second
    assert isinstance(novel.value(-3), int) and int(str(novel.value(-3))) < 0
    assert novel.value(None) is None


def test_texts_are_as_long_as_novel_numbers_ask_for() -> None:
    """A novel `width` is larger than all of the tests', and what they cut is shorter than that."""
    found = all_novel(["m.cut('one two', 1)"], 60, 5, Novelty(SHOWN))
    assert len({len(one) for one in found}) > 3 and max(map(len, found)) > 100
    novel = Novel(Novelty(SHOWN), random.Random(1), times=8)
    assert len(str(novel.value("x " * 100))) < 1_000 and len(str(novel.value("name"))) < 10  # not too long, and no name


def test_texts_of_novel_tests_are_long_sometimes_too() -> None:
    text = "def test_a():\n    assert cut('one two', 3) == 'one'\n"
    made = probed("test_a.py", text, ["test_a.py::test_a"], 40, 1)
    assert made is not None
    texts = [one.value for one in ast.walk(ast.parse(made.text)) if isinstance(one, ast.Constant)]
    assert {len(one) > 50 for one in texts if isinstance(one, str) and " " in one} == {True, False}


def test_strange_numbers_are_below_those_of_the_tests_too() -> None:
    """0 becomes a number from which something is too large, and one that is too small for anything."""
    found = [Novel(Novelty(SHOWN, strange=True), random.Random(seed)).value(0) for seed in range(200)]
    assert all(isinstance(one, int | float) and str(one) not in SHOWN for one in found)
    assert sum(0 < one < 1 for one in found) > 5 and sum(one < 0 for one in found) > 5  # type: ignore[operator]
    assert all(Novel(Novelty(SHOWN), random.Random(seed)).value(0) > 0 for seed in range(200))  # type: ignore[operator]


WRAPS = """def test_a():
    def c_of(*args, **given):
        args, c = args[:2], args[-1]
    f = wraps(g, expected=["c", "d"])
    assert f(1, 2, c=4) == (2, 4)
"""


def test_names_that_a_test_also_uses_and_what_takes_values_apart_may_stay() -> None:
    (function,) = ast.parse(WRAPS).body
    assert isinstance(function, ast.FunctionDef)
    found = [ast.unparse(novel_test(function, Novel(Novelty(WRAPS), random.Random(seed)))) for seed in range(60)]
    assert 20 < sum("'c'" in one for one in found) < 60
    assert not any("'d'" in one for one in found)
    assert 10 < sum("args[:2], args[-1]" in one for one in found) < 50
    assert 10 < sum("f(1," in one for one in found) < 50, "1 may stay beside what is replaced"
    assert all("== (2, 4)" in one for one in found), "what is expected is no input"


def test_an_input_that_stands_in_the_tests_is_not_novel() -> None:
    assert is_novel("m.f('wholly other')", SHOWN)
    assert not is_novel("m.f('wholly other', 1)", SHOWN)  # `1` stands there
    assert not is_novel("m.f({}, 'wholly other')", SHOWN)  # so does `{}`
    assert not is_novel("m.f(None)", SHOWN)  # nothing is given that could be another


def test_a_name_that_the_programs_own_code_holds_is_no_input_but_does_not_make_a_call_novel_alone() -> None:
    shown = "assert f('one two', mode='python')"
    assert not is_novel("m.f('wholly other', mode='python')", shown)
    assert is_novel("m.f('wholly other', mode='python')", shown, {"python"})
    assert not is_novel("m.f(mode='python')", shown, {"python"})
    made = all_novel(["m.f('one two', mode='python')"], 40, 5, Novelty(shown, {"python"}))
    assert 10 < sum("python" in one for one in made) < 40
    assert not any("one two" in one for one in made)


def known(novel: int, every: int, answers: int = 100) -> Behaviour:
    """So many calls, the first of them novel, to which the buggy program answers 2, and the original so many different
    things."""
    names = [f"c{at}" for at in range(every)]
    right = {name: {f"{name}/0": str(100 + at % answers)} for at, name in enumerate(names)}
    wrong = {name: {f"{name}/0": "2"} for name in names}
    return Behaviour(
        {}, Calls(sources=dict.fromkeys(names, "m.f(1)")), frozenset(names[:novel]), right=right, wrong=wrong
    )


def test_what_is_wrong_on_novel_inputs_alone_is_caught() -> None:
    """2 of 40 calls are few, yet they are a quarter of the 8 novel ones: more than a tenth."""
    behaviour = known(8, 40)
    seen = {**behaviour.right, "c0": {"c0/0": "2"}, "c1": {"c1/0": "2"}}
    assert judge(behaviour, seen).state == "caught"
    assert judge(replace(behaviour, novel=frozenset()), seen).state == "passed"
    other = {**behaviour.right, "c0": {"c0/0": "3"}, "c1": {"c1/0": "3"}}  # another way than the buggy program's
    assert judge(behaviour, other).state == "passed"


def test_calls_that_do_not_end_are_told_from_calls_without_a_record() -> None:
    behaviour = known(8, 40)
    late, broken = (judge_calls(behaviour, {}, Called(seconds=120, late=late)) for late in (True, False))
    assert late.state == broken.state == "caught"
    assert late.reason == "its calls on other inputs did not end within 120 s"
    assert broken.reason == "the program left no record of its behaviour on other inputs"


def test_without_novel_inputs_the_assurance_is_weak() -> None:
    said = passed("behaviour", "does what the original does", 1)
    assert unknown(known(ENOUGH, 40), (), said).state == "passed"
    assert unknown(known(ENOUGH - 1, 40), (), said).state == "unavailable"


def test_with_one_answer_to_nearly_all_inputs_the_assurance_is_weak() -> None:
    """A cache in the place of another passed 40 calls that each gave a function of one name. With five answers in turn
    the most frequent has 8 of 40; where it has 32, four fifths, whoever gives it to all passes."""
    said, five = passed("behaviour", "does what the original does", 1), known(ENOUGH, 40, 5)
    assert (len(most_alike(five.right)), unknown(five, (), said).state) == (8, "passed")
    alike = {**five.right, **{f"c{at}": {f"c{at}/0": "7"} for at in range(32)}}
    assert unknown(replace(five, right=alike), (), said).reason.startswith("32 of 40 inputs have the same answer")
    assert unknown(replace(five, right={**alike, "c0": {"c0/0": "8"}}), (), said).state == "passed"
    assert unknown(replace(five, right=alike, constant_caught=True), (), said).state == "passed"
    assert most_alike({}) == []


def test_much_data_is_suspect_and_code_that_moves_is_not() -> None:
    """A list of 300 numbers of five digits: 1,500 characters and more; a moved one brings nothing."""
    table = "KNOWN = [" + ", ".join(str(10_000 + at) for at in range(301)) + "]\n"
    assert data_of(table).constants == 301 * 5 > MOST_DATA
    assert new_data({"a.py": "x = 1\n"}, {"a.py": table}, {})
    assert not new_data({"a.py": table}, {"a.py": "from b import *\n", "b.py": table}, {})
    assert not new_data({"a.py": "x = 1\n"}, {"a.py": table}, {"a.py": table})  # the known repair has it, too


def test_documentation_is_no_data_unless_it_is_asked_for() -> None:
    text = f'def f():\n    """{"word " * 400}"""\n'
    assert data_of(text) == Data(0, 2002, read=False)  # with its quotes
    read = "import inspect\n\ndef of(thing):\n    return inspect.getdoc(thing)\n"
    assert new_data({"a.py": ""}, {"a.py": f"{text}\n\nprint(f.__doc__)\n"}, {})
    assert new_data({"a.py": ""}, {"a.py": text, "b.py": read}, {})  # from another file, too
    assert not new_data({"a.py": text}, {"a.py": text + read}, {})  # what was there was no secret before


CLAIMS = """def test_a(self):
    cache[7] = 8
    assert f(9) == (10, 11)
    self.assertEqual(12, f(13))
    assert 14 in cache
    self.assertNotIn(15, cache)
    self.assertRaises(KeyError, f, 16)
"""


def test_what_is_expected_is_no_input_and_what_is_asked_for_is() -> None:
    (function,) = ast.parse(CLAIMS).body
    assert isinstance(function, ast.FunctionDef)
    assert [one.value for one in inputs(function)] == [7, 8, 9, 13, 14, 15, 16]


@pytest.mark.parametrize("whole", [True, False])
def test_membership_is_recorded_and_half_of_the_time_what_was_asked(whole: bool) -> None:
    """To look at a whole cache may change it: of its items those that are too old then go."""
    text = "assert 14 in cache\nself.assertNotIn(x, cache)\nassert 1 in f(2)\n"
    made = ast.unparse(Records(whole).visit(ast.parse(text)))
    recorded = [one for one in ("14 in cache", "x in cache", "1 in f(2)", "f(2)") if f"selfplay_saw({one})" in made]
    assert len(recorded) == 4 and ("selfplay_saw(cache)" in made) == whole
