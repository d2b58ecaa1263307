"""What the judge reads of a stranger's Python takes time in proportion to its length, whatever its shape."""

from collections.abc import Callable

import pytest
from linear_time import grows_on
from oracle.python_shapes import shapes

from selfplay.oracle.behaviour import (
    borrowed,
    call_options,
    inherited_tests,
    line_marks,
    line_reach,
    module_changes,
    program_names,
    python_probes,
)
from selfplay.oracle.behaviour.unseen_inputs import Novelty
from selfplay.oracle.new_code import judge, needed_parts
from selfplay.oracle.new_code.changed_files import ChangedFiles
from selfplay.oracle.new_code.suspicious_apis import new_data, new_powers
from selfplay.oracle.rewriting import instrument, mutants
from selfplay.oracle.rewriting.python_trees import parsed
from selfplay.patches.changes import Change
from selfplay.patches.functions import functions
from selfplay.workbench.files import TestFile

BASE, NAME = "def base(a):\n    return a\n", "tests/test_a.py"
MOST_SECONDS = 0.3
"""Of one text, after which no longer one is tried."""


def as_test(text: str) -> str:
    return text.replace("def f(self, a)", "def test_f(self)").replace("def f(a)", "def test_f()")


def changed(text: str) -> ChangedFiles:
    """A file that gains the text."""
    return ChangedFiles({"shop.py": BASE}, {"shop.py": BASE + text}, {"shop.py": f"{BASE}\n"})


def users(text: str) -> object:
    tree, first = parsed(text), f"{text.split(chr(10))[0]}\n"
    names = tree and module_changes.NamesOfAModule(tree, functions("shop.py", text))
    return names and names.users(Change(1, (first,), ("x0 = 2\n",)))


def files_of(text: str) -> dict[str, TestFile]:
    return {NAME: TestFile(as_test(text).encode())}


READERS: dict[str, Callable[[str], object]] = {
    "options": lambda text: call_options.options_of([text]),
    "names": lambda text: program_names.program_names([text]),
    "mutants": lambda text: mutants.with_mutants(text, {*range(1, text.count("\n") + 1)}, 32, 1),
    "marked lines": lambda text: line_marks.marked(text, ()),
    "statements": lambda text: [*line_reach._statements(tree)] if (tree := parsed(text)) else None,
    "probes": lambda text: python_probes.probed(
        NAME, as_test(text), ["test_f", f"{NAME}::test_f"], 16, 1, Novelty(as_test(text))
    ),
    "inherited tests": lambda text: inherited_tests.with_inherited("a.py", {"a.py": as_test(text)}, ["test_f"]),
    "helpers": lambda text: borrowed.helper(text, {"f", "f1", "C10", "x10"}),
    "canaries": lambda text: instrument.with_canaries(files_of(text), [f"{NAME}::test_f"]),
    "impossible tests": lambda text: instrument.impossible(files_of(text), [f"{NAME}::test_f"]),
    "functions": lambda text: functions("shop.py", text),
    "users": users,
    "new powers": lambda text: new_powers(changed(text).before, changed(text).after, changed(text).repaired),
    "new data": lambda text: new_data(changed(text).before, changed(text).after, changed(text).repaired),
    "marked code": lambda text: judge.marked_code(changed(text)),
    "added parts": lambda text: needed_parts.added_parts(changed(text)),
    "lacking parts": lambda text: needed_parts.lacking_parts(changed(text)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", READERS)
def test_time_grows_with_the_length_of_the_source(name: str) -> None:
    assert grows_on(READERS[name], shapes(), MOST_SECONDS) == []


def test_the_shapes_are_python_of_the_length_that_is_asked_for() -> None:
    every = list(shapes())
    assert len(every) > 30
    for shape in every:
        assert parsed(shape.text(5_000)) is not None, shape
        assert 2_500 < len(shape.text(5_000)) < 12_000, (shape, len(shape.text(5_000)))
