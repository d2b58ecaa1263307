"""What a repository's text costs the scripts: sources that are large, or of one kind only, stay within seconds.

Seconds of the processor, so that a busy machine fails none. Where costs grew with the square of the text, the files of
many functions, the texts of few lines and the long functions took from twenty seconds to minutes.
"""

import ast
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from scripted.solver.shop import evidence, place

from selfplay.patches.lines import split_lines
from selfplay.repository import Suite
from selfplay.roles.injector.task import InjectorTask
from selfplay.scripted.edits.cuts import apply_cuts, change, cuts_between
from selfplay.scripted.edits.names import outermost_functions
from selfplay.scripted.injector.direct import direct_cuts
from selfplay.scripted.injector.function_planner import FunctionPlanner
from selfplay.scripted.injector.history import carry, reverts
from selfplay.scripted.injector.impossible import impossible
from selfplay.scripted.injector.removal import removal_cuts
from selfplay.scripted.injector.survey import Survey
from selfplay.scripted.solver.expressions import expression_repairs
from selfplay.scripted.solver.ingredients import Ingredients, insertion_repairs
from selfplay.scripted.solver.naive import choose

SECONDS = 15.0


@contextmanager
def within(seconds: float = SECONDS) -> Iterator[None]:
    began = time.process_time()
    yield
    assert time.process_time() - began < seconds


def surveyed(text: str) -> Survey:
    """One file whose every line a test runs."""
    lines = range(1, text.count("\n") + 2)
    return Survey(("t.py::test_it",), {"a.py": text}, {"a.py": dict.fromkeys(lines, frozenset({0}))})


def task(strategy: str) -> InjectorTask:
    suite = Suite(("t.py",), {f"t.py::test_{n}": 0.1 for n in range(10)})
    return InjectorTask(strategy, 0, 0, suite)  # type: ignore[arg-type]


HELPERS = "".join(f"def helper_{n}():\n    pass\n\n\n" for n in range(8000))
"""Nothing can be taken away from them: every one of them is looked at."""


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["removal", "direct"])
def test_a_file_of_many_functions_that_offer_nothing(strategy: str) -> None:
    survey = surveyed(HELPERS)
    with within():
        assert len(survey.targets) == 8000
        assert impossible(task(strategy), survey)
        script = FunctionPlanner(task(strategy), survey, random.Random(0)).propose()
        with pytest.raises(StopIteration) as done:
            next(script)
        assert done.value.value == ()


def test_functions_that_programs_wrote_are_no_targets() -> None:
    """One is too long, one has too long a line: both would be cut in more places than memory holds."""
    long = "def long():\n" + "".join(f"    name_{n} = {n}\n" for n in range(1001))
    wide = "def wide():\n    return [" + ", ".join(map(str, range(300))) + "]\n"
    survey = surveyed(f"{long}\n\n{wide}\n\ndef short():\n    return 1\n")
    assert [target.name for target in survey.targets] == ["short"]


@pytest.mark.slow
@pytest.mark.parametrize("body", ["    name_{0} = name_{1} + {0}\n", "    x = y = {0}\n    z = x\n", "    f(y, {0})\n"])
def test_the_longest_function_that_is_a_target(body: str) -> None:
    text = "def long(name_0, y):\n" + "".join(body.format(n + 1, n) for n in range(1000 // body.count("\n") - 1))
    [function] = outermost_functions(ast.parse(text))
    with within():
        assert removal_cuts(function, split_lines(text)) and direct_cuts(function, split_lines(text))


def test_texts_of_few_different_lines() -> None:
    """A blank line stands everywhere: where lines are compared in pairs, 20,000 of them make 4 * 10**8."""
    head = "x = 1\n\n" * 10_000 + "end = 1\n"
    merged = "y = 2\n" + "\nx = 1\n" * 10_000 + "end = 2\n"
    with within():
        assert apply_cuts(head, cuts_between(head, merged)) == merged


@pytest.mark.slow
def test_a_past_change_of_a_thousand_places() -> None:
    new = "".join(f"a = {n}\n\n\n" for n in range(3000))
    hunks = "".join(f"@@ -{3 * n + 1} +{3 * n + 1} @@\n-a = -{n}\n+a = {n}\n" for n in range(0, 3000, 3))
    diff = f"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n{hunks}"
    with within():
        found = reverts(diff, new, "a.py", 10, random.Random(0))
        every = max(found, key=lambda revert: len(revert.cuts))
        assert len(every.cuts) == 1000 and len(carry("\n" * 30_000 + new, every) or ()) == 1000


@pytest.mark.slow
def test_a_file_that_is_changed_many_times_is_not_kept_as_many_dumps() -> None:
    text = "x = [" + "1, " * 20_000 + "]\n"
    with within():
        assert all(change("a.py", text + f"y = {n}\n", []) is None for n in range(20))


STATEMENTS = "".join(
    f"    name_{n + 1} = name_{n} + {n}\n    if name_{n}:\n        work(name_{n})\n" for n in range(330)
)


@pytest.mark.slow
def test_the_solver_in_a_long_function() -> None:
    """A function of 992 lines, every one of which a failing test runs."""
    text = f"def long(name_0):\n{STATEMENTS}    return name_0\n"
    found = evidence({"shop.py": text})
    with within():
        assert list(expression_repairs(found, place(found, "long")))
        assert list(insertion_repairs(Ingredients(found), place(found, "long")))
        assert choose(found, 1, random.Random(0))
