"""What the first look at the failing tests says about the location of the bug, and what the sources alone say.

The suspicion of a line is Ochiai's: failing / sqrt(all failing * (failing + passing)) over the tests that run it. A
function is as suspicious as its most suspicious line, and more so when the traceback ends in it or the specification
names it.
"""

import ast
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from selfplay.patches import is_test_file
from selfplay.patches.lines import split_lines
from selfplay.scripted.edits.cuts import is_of_moderate_size, trees_of
from selfplay.scripted.edits.names import Function, outermost_functions, without_docstring
from selfplay.scripted.solver.reports import Looked, SeenCall, SeenTest, TracedRun


@dataclass(frozen=True)
class CodePlace:
    """A function of the repository that failing tests run. `owner`: its class's name, or empty."""

    path: str
    function: Function
    owner: str
    suspicion: float


@dataclass(frozen=True)
class Evidence:
    """Sources, failing tests and their spectrum. `failing_runs` and `passing_runs`: path -> line -> tests."""

    texts: Mapping[str, str]
    failing: tuple[SeenTest, ...]
    specification: str = ""
    failing_runs: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    passing_runs: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    traced: int = 1
    calls: tuple[SeenCall, ...] = ()
    operands: tuple[tuple[str, str | None, str | None], ...] = ()
    passing: tuple[str, ...] = ()

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        """The parsed sources."""
        return trees_of(self.texts)

    @cached_property
    def functions(self) -> tuple[tuple[str, str, Function], ...]:
        """(path, class, function) of every outermost function outside of the tests."""
        return tuple(
            (path, owner, function)
            for path, tree in self.trees.items()
            if not is_test_file(path)
            for function, owner in owned_functions(tree)
        )

    def lines(self, path: str) -> list[str]:
        if path not in self._lines:
            self._lines[path] = split_lines(self.texts[path])
        return self._lines[path]

    @cached_property
    def _lines(self) -> dict[str, list[str]]:
        return {}

    def suspicion(self, path: str, start: int, end: int) -> float:
        """The suspicion of lines `start`..`end`: the maximum of their lines, 0 if no failing test runs any."""
        failing, passing = self.failing_runs.get(path, {}), self.passing_runs.get(path, {})
        found = [
            failing[n] / math.sqrt(max(1, self.traced) * (failing[n] + passing.get(n, 0)))
            for n in range(start, end + 1)
            if n in failing
        ]
        return max(found, default=0.0)

    @cached_property
    def _told(self) -> frozenset[str]:
        """The words of the specification."""
        return words_of(self.specification)

    @cached_property
    def places(self) -> tuple[CodePlace, ...]:
        """The functions failing tests run, the most suspicious first."""
        found = []
        for path, owner, function in self.functions:
            score = self._suspicion_of(path, function) if path in self.failing_runs else 0.0
            if score > 0 and is_of_moderate_size(function, self.lines(path)):
                found.append(CodePlace(path, function, owner, score))
        return tuple(sorted(found, key=lambda place: -place.suspicion))

    def _suspicion_of(self, path: str, function: Function) -> float:
        end = function.end_lineno or function.lineno
        score = self.suspicion(path, function.body[0].lineno, end)
        if score == 0:
            return 0.0
        for failing in self.failing:
            inner = [frame for frame in failing.frames if not is_test_file(frame[0])]
            for depth, (where, line, _) in enumerate(reversed(inner[-4:])):
                if where == path and function.lineno <= line <= end:
                    score += 0.4 / (1 + depth) / len(self.failing)
        if function.name in self._told:
            score += 0.15
        return score + 0.5 * is_stub(function)


def owned_functions(tree: ast.Module) -> Iterator[tuple[Function, str]]:
    """Every outermost function of a module with the name of the class it stands in."""
    owners = {
        id(statement): node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for statement in node.body
    }
    for function in outermost_functions(tree):
        yield function, owners.get(id(function), "")


def is_stub(function: Function) -> bool:
    """Whether the body does nothing but pass, or return a constant, an empty display or a parameter."""
    body = without_docstring(function.body)
    if not body:
        return True
    if len(body) > 1:
        return False
    match body[0]:
        case ast.Pass() | ast.Return(value=None | ast.Constant() | ast.Name()):
            return True
        case ast.Return(value=ast.List(elts=[]) | ast.Dict(keys=[])):
            return True
    return False


def evidence_from(report: Looked, texts: Mapping[str, str], specification: str) -> Evidence:
    """The evidence from a look's report, limited to the failing tests that the specification names, if it names any."""
    failing = [test for test in report.tests if test.passed is False]
    told = words_of(specification)
    named = [test for test in failing if test.id.split("[")[0].split("::")[-1] in told]
    return Evidence(
        texts=texts,
        failing=tuple(named or failing),
        specification=specification,
        failing_runs=_runs(report.failing),
        passing_runs=_runs(report.passing),
        traced=report.failing.ran,
        calls=tuple(report.failing.calls),
        passing=tuple(test.id for test in report.tests if test.passed),
        operands=tuple(report.failing.operands),
    )


def words_of(text: str) -> frozenset[str]:
    """Every word of a text; a name counts as one word."""
    return frozenset(re.findall(r"\w+", text))


def _runs(traced: TracedRun) -> dict[str, dict[int, int]]:
    return {path: {int(line): count for line, count in counts.items()} for path, counts in traced.lines.items()}
