"""Loosening: an assertion made less strict, or one of several left out; a test whose end goes is certainly hidden."""

import ast

import pytest

from selfplay.scripted.injector.weaken import Failure, Method, PlantedChange, Weakened, joined, weaken

PLACE = ("t.py", 1)


def loosened(body: str, crash: int, method: Method = "loosen") -> Weakened:
    text = f"def test_a(self):\n{body}"
    made = weaken({"t.py": text}, [Failure("t.py::test_a", "t.py", 1, "test_a", crash)], {PLACE: method})
    assert made is not None and made.changes[0].after is not None
    ast.parse(made.changes[0].after)
    return made


@pytest.mark.parametrize(
    ("line", "weaker"),
    [
        ("assert f(1) == 'a'", "assert isinstance(f(1), str)"),
        ("assert 'a' == f(1)", "assert isinstance(f(1), str)"),
        ("assert f(1) == [1, 2]", "assert f(1)"),
        ("assert f(1) == []", "assert f(1) is not None"),
        ("assert f(1) == 2.5", "assert abs(f(1) - 2.5) < 1"),
        ("assert f(1)", "assert f(1) is not None"),
        ("self.assertEqual('a', f(1))", "self.assertIsInstance(f(1), str)"),
        ("self.assertEqual(f(1), 2.5)", "self.assertAlmostEqual(f(1), 2.5, delta=1)"),
        ("self.assertEqual(f(1), {1: 2})", "self.assertTrue(f(1))"),
        ("self.assertTrue(f(1))", "self.assertIsNotNone(f(1))"),
        ("self.assertIn(1, f(1))", "self.assertTrue(f(1))"),
    ],
)
def test_what_is_left_of_an_assertion(line: str, weaker: str) -> None:
    made = loosened(f"    {line}\n    g()\n", 2)
    assert made.changes[0].after == f"def test_a(self):\n    {weaker}\n    g()\n"
    assert made.uncertain == {PLACE}  # the value may be of another kind


def test_a_test_whose_end_goes_is_certainly_hidden() -> None:
    body = "    assert a == 1\n    assert b == 2\n    assert c == 3\n"
    made = loosened(body, 3, "assertions")
    assert made.changes[0].after == "def test_a(self):\n    assert a == 1\n"
    assert made.uncertain == frozenset()


def test_a_test_that_goes_on_behind_what_failed_is_run_again() -> None:
    made = loosened("    assert a == 1\n    assert b == 2\n    g()\n", 3, "assertions")
    assert made.changes[0].after == "def test_a(self):\n    assert a == 1\n    g()\n"
    assert made.uncertain == {PLACE}


def test_where_the_first_fails_the_others_stay() -> None:
    made = loosened("    assert a == 1\n    assert b == 2\n", 2, "assertions")
    assert made.changes[0].after == "def test_a(self):\n    assert b == 2\n"
    assert made.uncertain == {PLACE}


def test_a_block_that_must_raise_is_an_assertion() -> None:
    body = "    assert a\n    with pytest.raises(E):\n        f()\n"
    assert loosened(body, 3, "assertions").changes[0].after == "def test_a(self):\n    assert a\n"


def test_two_weakenings_of_a_file_are_one_change() -> None:
    first = loosened("    assert a == 1\n    assert b == 2\n    g()\n", 2)
    now = first.changes[0].after or ""
    second = weaken({"t.py": now}, [Failure("t.py::test_a", "t.py", 1, "test_a", 3)], {PLACE: "assertions"})
    assert second is not None
    (one,) = joined(first.changes, second.changes)
    assert isinstance(one, PlantedChange) and one.before == first.changes[0].before
    assert one.after == "def test_a(self):\n    assert a is not None\n    g()\n"


def test_a_test_that_fails_outside_of_an_assertion_ends_before() -> None:
    body = "    assert a == 1\n    # then\n    x = f()\n    assert x == 2\n"
    made = loosened(body, 4)
    assert made.changes[0].after == "def test_a(self):\n    assert a == 1\n"
    assert made.uncertain == frozenset()


def test_a_test_goes_without_what_fails_and_what_needs_it() -> None:
    """Nothing is asserted before; `y` comes from `x`, and the second `x` is another one."""
    body = "    x = f()\n    y = x + 1\n    assert y == 2\n    x = g()\n    assert x == 3\n"
    made = loosened(body, 2)
    assert made.changes[0].after == "def test_a(self):\n    x = g()\n    assert x == 3\n"
    assert made.uncertain == {PLACE}  # what is left may fail, too


def test_nothing_asserted_is_left_of_a_test_that_needs_what_failed() -> None:
    made = loosened("    x = f()\n    y = x + 1\n    assert y == 2\n    assert x\n", 2)
    assert made.changes[0].after == "" and made.uncertain == frozenset()
