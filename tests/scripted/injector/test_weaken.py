"""Weakening: what sees the bug goes, every other test's source stays byte for byte."""

import ast
import random
from dataclasses import replace
from itertools import product

import pytest

from selfplay.scripted.injector.weaken import METHODS, Failure, Method, choose_methods, ends, weaken

PLAIN = '''
import pytest

from shop import price


# About free things.
def test_free():
    assert price(0) == 0


def test_paid():
    total = price(3)
    assert total == 3
    assert total > 0
    assert str(total) == "3", "über"


@pytest.mark.parametrize(
    "n",
    [
        1,
        2,
        (3),
    ],
)
def test_many(n):
    assert price(n) == n
'''.lstrip("\n")  # fmt: skip


def failing(text: str, name: str, crash: str = "", case: int | None = None, path: str = "tests/test_a.py") -> Failure:
    """A failure of function `name`; it crashed on the line that holds `crash`, in case number `case`."""
    lines = text.split("\n")
    node = next(n for n in ast.walk(ast.parse(text)) if getattr(n, "name", "") == name)
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    line = next((n for n, content in enumerate(lines, 1) if crash and crash in content), None)
    case_indices = {} if case is None else {"n": case}
    return Failure(f"{path}::{name}", path, first, name, line, case_indices)


def weakened(text: str, failures: list[Failure], method: Method = "remove") -> str | None:
    methods = {(failure.path, failure.line): method for failure in failures}
    found = weaken({"tests/test_a.py": text}, failures, methods)
    return found.changes[0].after if found else None


def test_a_test_goes_with_its_comment() -> None:
    gone = PLAIN.replace("# About free things.\ndef test_free():\n    assert price(0) == 0\n\n\n", "")
    assert weakened(PLAIN, [failing(PLAIN, "test_free")]) == gone


def test_assertions_go_from_the_failing_one_on() -> None:
    failure = failing(PLAIN, "test_paid", "total > 0")
    gone = PLAIN.replace('    assert total > 0\n    assert str(total) == "3", "über"\n', "")
    assert weakened(PLAIN, [failure], "assertions") == gone


def test_a_loosened_assertion_asks_for_any_value() -> None:
    failure = failing(PLAIN, "test_paid", "total == 3")
    assert weakened(PLAIN, [failure], "loosen") == PLAIN.replace("assert total == 3\n", "assert total is not None\n")


def test_failing_cases_go_and_the_others_stay() -> None:
    failure = failing(PLAIN, "test_many", "price(n) == n", case=1)
    assert weakened(PLAIN, [failure], "cases") == PLAIN.replace("        2,\n", "")
    both = [failure, failing(PLAIN, "test_many", "price(n) == n", case=0)]
    assert weakened(PLAIN, both, "cases") == PLAIN.replace("        1,\n        2,\n", "")


def test_when_all_cases_fail_the_test_goes() -> None:
    failures = [failing(PLAIN, "test_many", case=case) for case in range(3)]
    after = weakened(PLAIN, failures, "cases")
    assert after is not None and "test_many" not in after and "parametrize" not in after and "test_paid" in after


@pytest.mark.parametrize(
    "cases", ["[1, 2, 3]", "CASES", "[\n    1, 2,\n    3,\n]", "[\n    1,\n    2,  # two\n    3,\n]"]
)
def test_cases_that_cannot_be_taken_out_take_the_test_along(cases: str) -> None:
    text = f"@pytest.mark.parametrize('n', {cases})\ndef test_n(n):\n    assert n\n\n\ndef test_b():\n    assert 1\n"
    assert weakened(text, [failing(text, "test_n", case=1)], "cases") == "\n\ndef test_b():\n    assert 1\n"


def test_cases_of_two_parametrisations_are_not_mixed_up() -> None:
    text = (
        "@mark.parametrize('n', [\n    1,\n    2,\n])\n@mark.parametrize('b', [\n    3,\n    4,\n])\n"
        "def test_n(n, b):\n    assert a\n\n\ndef test_b():\n    assert 1\n"
    )
    assert weakened(text, [failing(text, "test_n", case=1)], "cases") == "\n\ndef test_b():\n    assert 1\n"


CLASS = '''
class TestShop(unittest.TestCase):
    """Shop."""

    @skip
    def test_a(self):
        x = 1
        self.assertEqual(price(x), [
            1,
        ])
        for y in x:
            self.assertTrue(y)

    async def test_b(self):
        try:
            assert price(2) == 2
        finally:
            close()


class TestAlone:
    def test_only(self):
        assert 1
'''.lstrip("\n")  # fmt: skip


def test_methods_of_unittest_classes() -> None:
    failure = failing(CLASS, "test_a", "assertEqual")
    assert weakened(CLASS, [failure], "loosen") == CLASS.replace(
        "self.assertEqual(price(x), [\n            1,\n        ])", "self.assertTrue(price(x))"
    )
    gone = CLASS.replace("        self.assertEqual(price(x), [\n            1,\n        ])\n", "")  # the others stay
    assert weakened(CLASS, [failure], "assertions") == gone
    without = CLASS[: CLASS.index("    @skip")] + CLASS[CLASS.index("    async") :]
    assert weakened(CLASS, [failure]) == without


def test_the_only_assertion_is_loosened_and_an_emptied_class_keeps_a_pass() -> None:
    failure = failing(CLASS, "test_b", "price(2)")
    loosened = CLASS.replace("assert price(2) == 2", "assert price(2) is not None")
    assert weakened(CLASS, [failure], "loosen") == loosened
    assert "test_b" not in (weakened(CLASS, [failure], "assertions") or "")
    alone = failing(CLASS, "test_only")
    assert weakened(CLASS, [alone]) == CLASS.replace("    def test_only(self):\n        assert 1\n", "    pass\n")
    everything = weakened(CLASS, [failing(CLASS, name) for name in ("test_a", "test_b", "test_only")])
    assert everything is not None and everything.startswith('class TestShop(unittest.TestCase):\n    """Shop."""\n')
    assert "test_" not in everything


def test_a_test_in_the_else_of_a_condition_goes_too() -> None:
    text = "if A:\n    x = 1\nelse:\n    def test_a():\n        assert 1\n\ndef test_b():\n    pass\n"
    after = weakened(text, [failing(text, "test_a")])
    assert after is not None and "test_a" not in after and "test_b" in after
    ast.parse(after)


def test_a_test_in_a_handler_goes_too() -> None:
    text = "try:\n    import a\nexcept ImportError:\n    def test_a():\n        assert 1\n"
    after = weakened(text, [failing(text, "test_a")])
    assert after is not None and "test_a" not in after
    ast.parse(after)


def test_a_fixture_or_a_class_with_parameters_makes_a_case_more_than_one_test() -> None:
    text = PLAIN.replace("def test_many(n)", "def test_many(n, shop)")
    base = failing(text, "test_many", case=1)
    crossed = replace(base, indices={"n": 1, "shop": 1})
    after = weakened(text, [crossed], "cases")
    assert after is not None and "test_many" not in after


@pytest.mark.parametrize("names", ["'n, m'", "('n', 'm')", "['n', 'm']"])
def test_cases_of_several_arguments(names: str) -> None:
    text = f"@mark.parametrize({names}, [\n    (1, 2),\n    (3, 4),\n])\ndef test_n(n, m):\n    assert n\n"
    failure = replace(failing(text, "test_n"), indices={"n": 1, "m": 1})
    assert weakened(text, [failure], "cases") == text.replace("    (3, 4),\n", "")


def test_what_shares_a_line_with_an_assertion_stays() -> None:
    text = "def test_a():\n    x = f(); assert x\n    assert x == 1; done()\n    assert x == 2\n"
    after = weakened(text, [failing(text, "test_a", "x == 1")], "assertions")
    assert after is None or ("done()" in after and "x = f()" in after) or "test_a" not in after


def test_a_failure_that_is_nowhere_to_be_found_gives_nothing() -> None:
    ghost = Failure("a::test_ghost", "tests/test_a.py", 3, "test_ghost")
    assert weakened(PLAIN, [ghost]) is None
    elsewhere = failing(PLAIN, "test_free", path="tests/test_other.py")
    assert weaken({"tests/test_a.py": PLAIN}, [elsewhere], {}) is None


def test_crlf_files_stay_crlf() -> None:
    text = CLASS.replace("\n", "\r\n")
    for name, method in product(("test_a", "test_b", "test_only"), METHODS):
        after = weakened(
            text, [failing(text, name, {"test_a": "assertEqual", "test_b": "price(2)"}.get(name, ""))], method
        )
        assert after is not None and "\n" not in after.replace("\r\n", "")


def functions(text: str) -> dict[str, str]:
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return {node.name: ast.get_source_segment(text, node) or "" for node in nodes}


@pytest.mark.parametrize("text", [PLAIN, CLASS, PLAIN.replace("    ", "\t"), "\x0c" + PLAIN + CLASS])
def test_whatever_is_hidden_the_other_tests_stay_as_they_are(text: str) -> None:
    names = list(functions(text))
    rng = random.Random(0)
    for _ in range(60):
        chosen = rng.sample(names, rng.randint(1, len(names)))
        found = [failing(text, name, "assert", case=rng.randrange(3)) for name in chosen]
        made = weaken({"tests/test_a.py": text}, found, choose_methods(found, rng))
        assert made is not None and made.changes[0].after is not None
        after = functions(made.changes[0].after)
        assert {n: s for n, s in functions(text).items() if n not in chosen}.items() <= after.items()
        assert "#" not in made.changes[0].after.replace("# About free things.", "")  # nothing is commented out


def test_ways_vary_and_the_seed_fixes_them() -> None:
    failures = [Failure(f"t::{n}", "t.py", n, "f") for n in range(400)]
    methods = choose_methods(
        failures, random.Random(1)
    )  # its first number, 0.13, is one at which assertions are loosened
    assert methods == choose_methods(failures, random.Random(1))
    assert "loosen" not in choose_methods(failures, random.Random(0)).values()  # 0.84
    shares = {method: list(methods.values()).count(method) for method in METHODS}
    # weights 2:4:5:4 of 400: 53, 107, 133 and 107; five standard deviations are 34, 45, 48 and 45
    assert 19 <= shares["remove"] <= 87
    assert all(62 <= shares[method] <= 181 for method in METHODS[1:])


def test_one_function_has_one_way_whatever_its_cases() -> None:
    failures = [Failure(f"t::f[{n}]", "t.py", 7, "f", None, {"n": n}) for n in range(9)]
    assert list(choose_methods(failures, random.Random(0))) == [("t.py", 7)]


def test_what_must_be_hidden_for_certain_is_ended_before_it_fails() -> None:
    """`test_free` has nothing before its only assertion, and goes whole."""
    failures = [failing(PLAIN, "test_paid", "total > 0"), failing(PLAIN, "test_free", "price(0) == 0")]
    found = weaken({"tests/test_a.py": PLAIN}, failures, ends(failures))
    gone = PLAIN.replace('    assert total > 0\n    assert str(total) == "3", "über"\n', "")
    gone = gone.replace("# About free things.\ndef test_free():\n    assert price(0) == 0\n\n\n", "")
    assert found is not None and found.changes[0].after == gone and not found.uncertain
