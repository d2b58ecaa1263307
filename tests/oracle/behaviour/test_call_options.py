"""Options that no test gives are given to calls, so that lines that ask for them, or pass them on, show."""

import ast
import random
from pathlib import Path

import pytest
from exploits.projects import Lab, Project

from selfplay.oracle.behaviour.call_options import ANY_NAMES, options_of, with_option
from selfplay.oracle.behaviour.call_probes import Asked, varied_calls
from selfplay.oracle.behaviour.call_source import call_tree
from selfplay.repository.suites.pytest_suite import PARSER, render_script
from selfplay.sandbox import Backend

NAME = "tests/test_it.py"
LISTS = '''"""Lists of names."""

from typing import Callable, Optional

LAST = "z"


def ordered(names, key: Optional[Callable] = None, *, reverse=False, mode="plain", until=LAST):
    """Names in order."""
    if mode == "upper":
        names = [name.upper() for name in names]
    return sorted(names, key=key, reverse=reverse)


class Base:
    def __init__(self, size: int = 3, **rest):
        self.size, self.strict = size, rest.pop("strict", True)


class Shelf(Base):
    def put(self, one, twice=False):
        return [one, one] if twice else [one]
'''
OPTIONS = options_of([LISTS])


def test_the_options_are_those_of_the_signatures() -> None:
    """By the default, the annotation, what the function compares with, what it takes from the rest, and the base."""
    one = OPTIONS["ordered"]
    assert {*one} == {"key", "reverse", "mode", "until"}
    assert one["reverse"].values == ("True",) and "len" in one["key"].values and "'upper'" in one["mode"].values
    assert "'plain'" not in one["mode"].values and "'zz'" in one["until"].values
    assert {*OPTIONS["Shelf"]} == {*OPTIONS["Base"]} == {"size", "strict", *ANY_NAMES}
    assert OPTIONS["Shelf"]["strict"].values == ("False",) and "4" in OPTIONS["Shelf"]["size"].values
    assert OPTIONS["put"]["twice"].place == 1


def test_a_call_gets_options_that_it_lacks() -> None:
    """Of any call in it; not one that it has, by name or by its place."""
    found = set[str]()
    for seed in range(400):
        tree = call_tree("m.Shelf(2, strict=False).put('a')")
        with_option(tree, call_tree("m.Shelf(colour='red')"), OPTIONS, random.Random(seed))
        found.add(ast.unparse(tree))
    assert "m.Shelf(2, strict=False).put('a', twice=True)" in found
    assert "m.Shelf(2, strict=False, colour='red').put('a')" in found  # as the other call has it
    assert not any("size" in one or one.count("strict") > 1 for one in found)


def test_options_are_one_of_the_changes() -> None:
    made = varied_calls(["m.ordered(['a', 'b'])"], (), 600, 1, Asked((), OPTIONS))
    assert any("reverse=True" in one for one in made) and any("key=len" in one and "mode=" in one for one in made)
    assert not any("reverse" in one for one in varied_calls(["m.ordered(['a', 'b'])"], (), 300, 1))


def test_what_is_named_in_the_code_comes_first() -> None:
    asked = Asked(("upper", 7), OPTIONS)
    near = asked.named_in("return sorted(names, key=key, reverse=reverse)")
    assert {*near.options["ordered"]} == {"key", "reverse"} and near.values == ("upper", 7)
    assert asked.named_in("if mode == 'upper':").values == ["upper"]
    assert asked.named_in("pass") == asked


@pytest.mark.slow
def test_lines_that_pass_options_on_are_told(backend: Backend, tmp_path: Path) -> None:
    """The tests use none of the options; most of the small changes of these lines show in no call without them."""
    program = LISTS.replace("return sorted(names, key=key, reverse=reverse)", "\n    ".join([
        "found = list(names)", "if mode == 'last':", "    found = found[-2:]", "if reverse:", "    found.reverse()",
        "if key is not None:", "    found = [key(one) for one in found]", "return found",
    ]))  # fmt: skip
    buggy = program[: program.index("    if mode == 'last'")] + "    return found[::-1]\n" + program[
        program.index("\n\nclass Base") :]  # fmt: skip
    tests = "from lists import ordered\n\n\ndef test_shown():\n    assert ordered([]) == []\n\n\n"
    hidden = 'def test_hidden():\n    assert ordered(["b", "a"]) == ["b", "a"]\n    assert ordered("xyz")[0] == "x"\n'
    bug = Project(
        {"lists.py": program, NAME: tests + hidden}, ("lists.py", buggy), {NAME: tests}, render_script([NAME]), PARSER,
        (f"{NAME}::test_hidden",), (f"{NAME}::test_shown",),
    )  # fmt: skip
    known = Lab("python", backend, tmp_path, bug)._grader.calibration.behaviour
    assert known is not None and known.mutants >= 12 and len(known.unseen) <= 2, known and known.unseen


def test_a_class_s_own_option_is_not_its_base_s() -> None:
    text = "class A:\n def __init__(self, a=1): 0\n\nclass B(A):\n def __init__(self, a='x', b=True): 0\n"
    assert "'xx'" in options_of([text])["B"]["a"].values and {*options_of([text])["B"]} == {"a", "b"}


def test_of_many_options_and_bases_some_are_looked_at() -> None:
    many = ", ".join(f"a{number}=1" for number in range(500))
    text = f"def f({many}): 0\n\nclass A:\n def __init__(self, {many}): 0\n\nclass B({'A, ' * 99}): 0\n"
    assert {name: len(found) for name, found in options_of([text]).items()} == {"f": 100, "A": 100, "B": 100}


def test_what_has_only_a_place_is_no_option() -> None:
    assert {*options_of(["def f(a, b=1, c=2, /, d=3, *, e=4): 0\n"])["f"]} == {"d", "e"}
    assert {*options_of(["def f(a, b, /, c, d=3): 0\n"])["f"]} == {"d"}


@pytest.mark.parametrize("default", ["None", "A + 1", "made()", "-1", "f'x'", "(yield)", "x[0]", "not y", "...", "b''"])
def test_an_option_has_a_value_or_is_none(default: str) -> None:
    """Whatever its default is, and however it is taken."""
    source = f"def run(one, two={default}, *, three={default}, **rest):\n    return rest.pop('four', {default})\n"
    options = options_of([source])
    assert all(one.values for one in options["run"].values())
    for seed in range(20):
        with_option(call_tree("run(1)"), call_tree("run(2)"), options, random.Random(seed))
