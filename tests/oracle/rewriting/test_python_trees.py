"""Trees of Python files, however deeply a repository nests them, and the tests that ids ask for."""

import ast
import tracemalloc

import pytest

from selfplay.oracle.rewriting.python_trees import WantedTests, bodies, parsed


def test_a_long_elif_is_no_deep_recursion() -> None:
    """Python nests each `elif` in the one before. The function has one list of statements, each of the n conditions
    one, and each but the last one more, which holds the next. A chain of 1400, which nobody writes, is not parsed."""

    def chain(n: int) -> str:
        rest = "".join(f"    elif x == {at}:\n        y = {at}\n" for at in range(1, n))
        return f"def f(x):\n    if x == 0:\n        y = 0\n{rest}"

    tree = parsed(chain(90))
    assert tree is not None and parsed(chain(1400)) is None
    assert len([*bodies(tree.body[0])]) == 1 + 90 + (90 - 1)


@pytest.mark.parametrize(
    ("test", "found"),
    [
        ("tests/test_a.py::TestA::test_one[x-1]", True),
        ("test_one (tests.deep.down.in.a.tree.of.packages.test_a.TestA)", True),
        ("test_one (tests.deep.down.in.a.tree.of.packages.test_a.TestA.test_one)", True),
        ("tests/test_b.py::TestA::test_one", False),
        ("tests/test_a.py::TestB::test_one", False),
        ("tests/test_a.py::TestA::test_two", False),
    ],
)
def test_an_id_asks_for_a_function_of_its_class(test: str, found: bool) -> None:
    (function,) = (
        owner.body
        if isinstance(owner := ast.parse("class TestA:\n def test_one(self): 0").body[0], ast.ClassDef)
        else ()
    )
    assert isinstance(function, ast.FunctionDef)
    assert WantedTests("tests/test_a.py", [test]).has(function, owner) is found


def test_ids_of_many_words_take_no_square_of_them() -> None:
    """A shared bug of 60,000 ids that have half of their fifty words in common took 5 GB and three minutes."""
    same = " ".join(f"same_{number}" for number in range(25))
    ids = [f"{same} {' '.join(f'own_{number}_{at}' for at in range(25))}" for number in range(10_000)]
    tracemalloc.start()
    asked = WantedTests("a.py", [*ids, f"{same} test_a"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    function = ast.parse("def test_a(): pass").body[0]
    assert isinstance(function, ast.FunctionDef) and asked.has(function, None)
    assert peak < 60_000_000  # 8 words each, and the sets of two that all have
