"""The survey of a repository for the scripted injector: its sources, and which tests run which lines.

It is made once per repository by running its suite under coverage (`traced.py`), and cached for later and resumed runs.
(A model would explore again in each episode; the script does not.)
"""

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from selfplay.believable.product import is_own
from selfplay.formatting import Say
from selfplay.patches import is_test_file
from selfplay.patches.lines import split_lines
from selfplay.plain_text import text_below
from selfplay.repository import Prepared, Suite
from selfplay.repository.copies import Copies
from selfplay.repository.suites.pytest_suite import file_of
from selfplay.sandbox import Backend
from selfplay.scripted.edits.cuts import Cut, is_of_moderate_size, trees_of
from selfplay.scripted.edits.names import Function, outermost_functions
from selfplay.scripted.injector.half_merges import Fit
from selfplay.scripted.injector.index import Index
from selfplay.scripted.injector.survey_cache import keep, kept, place_of
from selfplay.scripted.injector.traced import SurveyFailed, Traced, coverage_of, trace

__all__ = ["Survey", "SurveyFailed", "Target", "survey_of"]
MOST_SOURCE = 1_000_000
"""Bytes of one source file: a longer file was generated."""


@dataclass(frozen=True)
class Target:
    """One function that tests run: `tests` are numbers of the tests that reach one of its lines."""

    path: str
    name: str
    start: int
    end: int
    tests: frozenset[int]


@dataclass(frozen=True)
class Survey:
    """What the scripted injector knows of a repository.

    `texts`: path -> source of code and test files that ran. `reached`: path -> line -> numbers of the `tests` that run
    it. `changed`: Python files that past commits changed. `installed`: packages of the tree that its tests import from
    somewhere else. `copies`: of the project, among its packages.
    """

    tests: tuple[str, ...]
    texts: Mapping[str, str]
    reached: Mapping[str, Mapping[int, frozenset[int]]]
    changed: frozenset[str] = frozenset()
    installed: tuple[str, ...] = ()
    copies: Copies = field(default_factory=Copies)

    @cached_property
    def trees(self) -> dict[str, ast.Module]:
        """Parsed sources."""
        return trees_of(self.texts)

    @cached_property
    def _run(self) -> frozenset[str]:
        return frozenset(map(file_of, self.tests))

    def is_test(self, path: str) -> bool:
        """Whether a file belongs to the tests: by its name, or because tests of it ran."""
        return path in self._run or is_test_file(path)

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """The functions of the product that tests reach, in file order."""
        found = []
        for path in sorted(self.trees):
            if is_own(path, self.texts[path]) and not self.is_test(path):
                found.extend(self._functions(path))
        return tuple(found)

    def _functions(self, path: str) -> list[Target]:
        targets = []
        for function in self._nodes[path].values():
            start, end = function.lineno, function.end_lineno or function.lineno
            tests = self.tests_of(path, function.body[0].lineno, end)
            if tests and is_of_moderate_size(function, self.lines[path]):
                targets.append(Target(path, function.name, start, end, tests))
        return targets

    def tests_of(self, path: str, start: int, end: int) -> frozenset[int]:
        """Tests that run at least one of the lines `start`..`end`."""
        lines = self.reached.get(path, {})
        return frozenset().union(*(lines[n] for n in range(start, end + 1) if n in lines))

    def tests_of_cut(self, path: str, cut: Cut) -> frozenset[int]:
        """Tests that run a line the cut replaces, or, for an insertion, the line after it."""
        return self.tests_of(path, cut.start, max(cut.start, cut.end))

    def tests_of_cuts(self, path: str, cuts: Iterable[Cut]) -> frozenset[int]:
        """Tests that run a line of any of the cuts."""
        return frozenset().union(*(self.tests_of_cut(path, cut) for cut in cuts))

    @cached_property
    def _imports(self) -> dict[str, set[str]]:
        """Last part of a module's name -> names that some file takes from it, by import or by attribute."""
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

    def taken_from(self, path: str) -> set[str]:
        """Names that files take from the module at a path."""
        stem = path.removesuffix("/__init__.py").removesuffix(".py").split("/")[-1]
        return self.imported_from(stem)

    def function_at(self, target: Target) -> Function:
        return self._nodes[target.path][target.start]

    @cached_property
    def _nodes(self) -> dict[str, dict[int, Function]]:
        """Path -> first line -> function."""
        return {path: {f.lineno: f for f in outermost_functions(tree)} for path, tree in self.trees.items()}

    @cached_property
    def by_file(self) -> dict[str, list[Target]]:
        """Path -> its targets, in the order of their lines."""
        files: dict[str, list[Target]] = {}
        for target in self.targets:
            files.setdefault(target.path, []).append(target)
        return files

    @cached_property
    def index(self) -> Index:
        """The index of where names are used."""
        return Index(self.texts, self.trees)

    @cached_property
    def fit(self) -> Fit:
        """Whether the product fits a changed file."""
        own = {path: tree for path, tree in self.trees.items() if is_own(path, self.texts[path])}
        return Fit({path: tree for path, tree in own.items() if not self.is_test(path)}, self.index)

    @cached_property
    def lines(self) -> dict[str, list[str]]:
        """Path -> the lines of the file."""
        return {path: split_lines(text) for path, text in self.texts.items()}


def survey_of(
    prepared: Prepared,
    suite: Suite,
    backend: Backend,
    cache: Path | None = None,
    say: Say = lambda line: None,
) -> Survey:
    """The survey of a measured repository, from the `cache`, or made now and cached. It blocks.

    Raises `SurveyFailed` when the suite cannot be run under coverage, or `SandboxError`.
    """
    place = place_of(prepared, suite, cache)
    traced = kept(place)
    if traced is None:
        say("running the tests under coverage, to learn which code they run")
        traced = trace(prepared, suite, backend)
        keep(place, traced, say)
    return make_survey(prepared.tree, suite, traced)


def make_survey(tree: Path, suite: Suite, traced: Traced) -> Survey:
    """The survey from the results of a run and the sources of the files in it."""
    coverage = coverage_of(traced.coverage)
    texts = {
        path: text
        for path in sorted({*coverage.lines, *suite.files})
        if (text := text_below(tree, path, MOST_SOURCE)) is not None
    }
    return Survey(coverage.tests, texts, coverage.lines, frozenset(traced.changed), traced.installed)
