"""Trees of Python files, however deeply a repository nests them."""

import sys

from selfplay.oracle.rewriting.python_trees import bodies, parsed


def test_a_long_elif_is_no_deep_recursion() -> None:
    """Python nests each `elif` in the one before. The function has one list of statements, each of the n conditions
    one, and each but the last one more, which holds the next."""
    n = sys.getrecursionlimit() + 400
    text = "def f(x):\n    if x == 0:\n        y = 0\n" + "".join(
        f"    elif x == {at}:\n        y = {at}\n" for at in range(1, n)
    )
    tree = parsed(text)
    assert tree is not None
    assert len([*bodies(tree.body[0])]) == 1 + n + (n - 1)
