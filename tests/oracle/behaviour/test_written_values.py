"""What tests pass to the program is written as source that makes it again: also functions made in passing, and values
of Python's own types."""

import collections
import datetime
import decimal
import importlib
import operator
import sys
from pathlib import Path
from typing import Any

import pytest

from selfplay.oracle import inside

TEXT = """
import operator


def made(n):
    power = 2

    def only(x, *rest, **more):
        return x ** power + n + len(rest)

    def longer(x):
        x += 1
        return x

    def gives(x):
        y = x
        yield y

    async def waits(x):
        x += 1
        return x

    return {
        "gives": gives, "waits": waits,
        "plain": lambda x: x + 1, "around": lambda x: operator.add(x, n),
        "default": (lambda x, y=n, *, z=power: x * y * z),
        "method": Made().add,
        "only": only, "comprehension": lambda *xs: [x for x in xs if x], "longer": longer,
        "local": lambda x: longer(x), "unset": lambda x: later(x),
    }


TWO = (lambda x: x + [1]), (lambda x: x - [1])


class Made:
    def add(self, x):
        return x + 1


def later(x):
    return x
"""


@pytest.fixture
def written(tmp_path: Path) -> Any:
    space: dict[str, Any] = {}
    exec("\n".join(inside.text(name) for name in ("selfplay_functions.py", "selfplay_written.py")), space)
    found = space["SelfplayWritten"]()
    found.root, found.tests = f"{tmp_path}/", {"test_it.py"}
    return found


def again(written: Any, source: str) -> Any:
    """The value that a source makes."""
    return eval(source, {name: importlib.import_module(module) for module, name in written.modules.items()})


def functions(folder: Path) -> dict[str, Any]:
    (folder / "test_it.py").write_text(TEXT)
    space: dict[str, Any] = {"__name__": "test_it"}
    exec(compile(TEXT, str(folder / "test_it.py"), "exec"), space)
    return {**space["made"](10), "two": space["TWO"][0]}


@pytest.mark.parametrize("name", ["plain", "around", "default", "only", "comprehension"])
def test_a_function_of_one_expression_is_made_again_with_what_it_uses(name: str, written: Any, tmp_path: Path) -> None:
    function = functions(tmp_path)[name]
    made = again(written, written.literal(function, 5))
    assert [made(x) for x in range(4)] == [function(x) for x in range(4)]


@pytest.mark.parametrize("name", ["longer", "two", "method"])
def test_another_function_of_a_test_has_one_in_its_place(name: str, written: Any, tmp_path: Path) -> None:
    """Of more than one statement, one of two in a line that use the same things, a method: what was decorated with it
    would not be known at all."""
    made = again(written, written.literal(functions(tmp_path)[name], 5))
    assert made(1, 2, a=3) == (1, 2, ("a", 3))


@pytest.mark.parametrize("name", ["local", "unset"])
def test_so_has_what_a_function_uses(name: str, written: Any, tmp_path: Path) -> None:
    assert again(written, written.literal(functions(tmp_path)[name], 5))(4) == (4,)


@pytest.mark.parametrize("name", ["gives", "waits"])
def test_what_runs_later_has_none(name: str, written: Any, tmp_path: Path) -> None:
    """A generator or a coroutine that is awaited: a tuple in its place would only fail."""
    assert written.literal(functions(tmp_path)[name], 5) is None


def test_a_function_of_the_program_is_no_input(written: Any, tmp_path: Path) -> None:
    function = functions(tmp_path)["plain"]
    written.tests = set()
    assert written.literal(function, 5) is None


@pytest.mark.parametrize("value", [
    collections.OrderedDict(a=1), collections.Counter("aab"), collections.deque([1, [2]]), range(1, 9, 2),
    collections.defaultdict(list, a=[1]), decimal.Decimal("1.50"), datetime.date(2026, 11, 26), bytearray(b"ab"),
    datetime.timedelta(days=1), Path("a/b"), slice(1, None),
], ids=lambda value: type(value).__name__)  # fmt: skip
def test_a_value_of_pythons_own_is_made_again(value: object, written: Any) -> None:
    made = again(written, written.literal(value, 5))
    assert made == value and type(made) is type(value)


def test_an_iterator_is_written_and_not_used(written: Any) -> None:
    for made in (iter([1, 2]), map(operator.neg, [1, 2]), zip([1], [2], strict=False)):
        source = written.literal(made, 5)
        assert list(again(written, source)) == list(made) != []


def test_what_has_further_state_is_not_written(written: Any) -> None:
    class Own(list[int]):
        pass

    used = iter([1, 2])
    next(used)
    for value in (Own([1]), used, collections.deque([1, 2], 3), (x for x in ()), sys.stdout, object()):
        assert written.literal(value, 5) is None or value is sys.stdout
