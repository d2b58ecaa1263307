"""What the scripted injector knows of a repository: its sources, and which tests run which lines.

Learned once per run, in the first episode, by running the suite under coverage through the ordinary tools; later
episodes read the same notes (a model would explore anew each time; that is the one thing the script does not).
"""

import ast
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from selfplay.patches import is_test_file
from selfplay.plain import syntax_tree
from selfplay.repository.pytest_suite import CoverageMap
from selfplay.scripted.edits.cuts import Cut
from selfplay.scripted.edits.names import Function


@dataclass(frozen=True)
class Target:
    """One function that tests run: `tests` are numbers of the tests that reach a line of it."""

    path: str
    name: str
    start: int
    end: int
    tests: frozenset[int]


@dataclass(frozen=True)
class Survey:
    """`texts`: path -> source of code and test files that ran. `reached`: path -> line -> tests running it."""

    tests: tuple[str, ...]
    texts: Mapping[str, str]
    reached: Mapping[str, Mapping[int, frozenset[int]]]

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        """Parsed sources; what does not parse under this interpreter is left out."""
        parsed = {}
        for path, text in self.texts.items():
            try:
                if "\r" not in text.replace("\r\n", "\n"):  # a lone CR: lines to Python, none to git
                    parsed[path] = syntax_tree(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                continue
        return parsed

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """The functions of code files that tests reach, in file order."""
        found = []
        for path in sorted(self.trees):
            if not is_test_file(path):
                found.extend(self._functions(path))
        return tuple(found)

    def _functions(self, path: str) -> list[Target]:
        targets = []
        for function in outermost_functions(self.trees[path]):
            start, end = function.lineno, function.end_lineno or function.lineno
            body = function.body[0].lineno
            tests = self.tests_of(path, body, end)
            if tests:
                targets.append(Target(path, function.name, start, end, tests))
        return targets

    def tests_of(self, path: str, start: int, end: int) -> frozenset[int]:
        """Tests that run at least one of the lines `start`..`end`."""
        lines = self.reached.get(path, {})
        return frozenset().union(*(lines[n] for n in range(start, end + 1) if n in lines))

    def tests_of_cut(self, path: str, cut: Cut) -> frozenset[int]:
        """Tests that run a line the cut replaces, or for an insertion the line it comes before."""
        return self.tests_of(path, cut.start, max(cut.start, cut.end))

    def tests_of_cuts(self, path: str, cuts: Iterable[Cut]) -> frozenset[int]:
        """Tests that run a line of any of the cuts."""
        return frozenset().union(*(self.tests_of_cut(path, cut) for cut in cuts))

    @cached_property
    def _imports(self) -> dict[str, set[str]]:
        """Last part of a module's name -> names some file takes from it, by import or by attribute."""
        taken: dict[str, set[str]] = defaultdict(set)
        for tree in self.trees.values():
            for node in ast.walk(tree):
                match node:
                    case ast.ImportFrom(module=module, names=names):
                        taken[(module or "").split(".")[-1]].update(alias.name for alias in names)
                    case ast.Attribute(value=ast.Name(id=owner), attr=attribute):
                        taken[owner].add(attribute)
        return taken

    def imported_from(self, module: str) -> set[str]:
        """Names that files take from a module of this (last) name; generous, since aliases are not followed."""
        return self._imports.get(module, set()) | self._imports.get("", set())

    def function_at(self, target: Target) -> Function:
        return next(f for f in outermost_functions(self.trees[target.path]) if f.lineno == target.start)


def outermost_functions(tree: ast.Module) -> list[Function]:
    """Functions and methods not inside another function, in source order."""
    found: list[Function] = []
    queue: list[ast.AST] = [tree]
    while queue:
        for child in ast.iter_child_nodes(queue.pop(0)):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                found.append(child)
            elif isinstance(child, ast.stmt | ast.excepthandler):
                queue.append(child)
    return sorted(found, key=lambda function: function.lineno)


def make_survey(coverage: CoverageMap, texts: Mapping[str, str]) -> Survey:
    """The survey from a coverage map and the sources of the files in it."""
    return Survey(tests=coverage.tests, texts=texts, reached=coverage.lines)


class Notes:
    """The one piece of state the episodes of a run share: the survey, made by whoever comes first."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.survey: Survey | None = None
