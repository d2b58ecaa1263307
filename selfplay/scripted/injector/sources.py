"""What the scripted injector knows of a repository in a language without a survey: its sources.

Which test runs which line is not known. So a change is tried, and the tests that fail are the ones that see it;
functions that tests name are tried first.
"""

import os
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

from selfplay.believable.product import is_own
from selfplay.patches import is_test_file
from selfplay.plain_text import text_below
from selfplay.repository.copies import Copies
from selfplay.scripted.edits.cuts import LONGEST_LINE, MOST_LINES
from selfplay.syntax import Source, grammar_of, parse
from selfplay.syntax.grammar import language_of, walk
from selfplay.syntax.imports import imported, loading, resolved, turned
from selfplay.syntax.source import Function, Unreadable, first_line, last_line, statements

MOST_SOURCE, MOST_FILES = 400_000, 2000
"""The most bytes of one file (larger ones are generated), and the most files that are read."""
MOST_SECONDS = 120
"""Seconds in which all of them are parsed: 1,500 honest files take half a one, a hostile one may take three."""
LEAST_STATEMENTS = 2
SHORT = 2
"""Letters of a name that says nothing."""
APART = frozenset(["node_modules", "vendor", "third_party", "dist", "build", "coverage", "testdata"])
"""Folders of third-party or generated code."""


@dataclass(frozen=True)
class SourcePlace:
    """A function of the product, by its number in its file. `named`: whether a test file has its name."""

    path: str
    name: str
    number: int
    named: bool


class _Parsed(NamedTuple):
    """What one pass over the files finds."""

    places: tuple[SourcePlace, ...]
    unparsed: Mapping[str, str]
    imports: Mapping[str, frozenset[str]]


@dataclass(frozen=True)
class Sources:
    """The sources of a repository, path -> text. `copies`: of the project, among its packages."""

    language: str
    texts: Mapping[str, str]
    copies: Copies = field(default_factory=Copies)

    @property
    def places(self) -> tuple[SourcePlace, ...]:
        """The functions that can be changed, file by file."""
        return self._parsed.places

    @property
    def unparsed(self) -> Mapping[str, str]:
        """The files of the product and of its tests that have no tree, and why: nothing in them is changed or named."""
        return self._parsed.unparsed

    def tests_loading(self, paths: Collection[str]) -> frozenset[str]:
        """The test files that import one of these files, be it through others: those that name it by relative paths. A
        language whose files do not name each other has none."""
        return frozenset(path for path in loading(paths, self._loaded_by) if is_test_file(path))

    @property
    def knows_loading(self) -> bool:
        """Whether files of the tree name what they load by relative paths."""
        return bool(self._loaded_by)

    @cached_property
    def _loaded_by(self) -> dict[str, list[str]]:
        """File -> the files of the tree that import it."""
        found = self._parsed.imports
        return turned(
            {path: {to for name in names if (to := resolved(path, name, self.texts))} for path, names in found.items()}
        )

    def source(self, path: str) -> Source:
        """The tree of a file. Raises `Unreadable`."""
        return parse(language_of(path), self.texts[path])

    def rare_names(self, path: str, most: int) -> Mapping[int, frozenset[str]]:
        """1-based line -> the names on it that say something and stand in the file `most` times at most. Raises
        `Unreadable`."""
        return _rare_names(language_of(path), self.texts[path], most)

    def function(self, place: SourcePlace) -> Function:
        return list(self.source(place.path).functions())[place.number]

    @cached_property
    def _parsed(self) -> _Parsed:
        """Each file is parsed once: there may be thousands, and their trees are not kept."""
        words, unparsed, functions = set[str](), dict[str, str](), list[tuple[str, str, int]]()
        imports, latest = dict[str, frozenset[str]](), time.monotonic() + MOST_SECONDS
        for path in sorted(self.texts):
            tested = is_test_file(path)
            if not tested and (not is_own(path, self.texts[path]) or _has_long_lines(self.texts[path])):
                continue
            if time.monotonic() > latest:
                unparsed[path] = f"to parse the files before it took {MOST_SECONDS} s"
                continue
            try:
                source = self.source(path)
            except Unreadable as error:
                unparsed[path] = str(error)
                continue
            imports[path] = imported(source)
            if tested:
                words |= {source.said(n) for n in walk(source.root) if n.type.endswith("identifier")}
            else:
                functions += [(path, name, number) for name, number in _changeable(source)]
        places = (SourcePlace(path, name, number, name.rsplit(".", 1)[-1] in words) for path, name, number in functions)
        return _Parsed(tuple(places), unparsed, imports)


@lru_cache(maxsize=64)
def _rare_names(language: str, text: str, most: int) -> Mapping[int, frozenset[str]]:
    source, places = parse(language, text), dict[str, list[int]]()
    for node in walk(source.root):
        if node.type.endswith("identifier") and node.end_byte - node.start_byte > SHORT:
            places.setdefault(source.said(node), []).append(first_line(node))
    found = dict[int, set[str]]()
    for name, lines in places.items():
        for line in lines if len(lines) <= most else ():
            found.setdefault(line, set()).add(name)
    return {line: frozenset(names) for line, names in found.items()}


def _has_long_lines(text: str) -> bool:
    """Whether a file has lines that nobody writes by hand: nothing of it is changed."""
    return any(len(line) > LONGEST_LINE for line in text.split("\n"))


def _changeable(source: Source) -> Iterator[tuple[str, int]]:
    """The name and the number of each function that can be changed."""
    for number, function in enumerate(source.functions()):
        length = last_line(function.node) - first_line(function.node) + 1
        enough = len(statements(function.body, source.grammar)) >= LEAST_STATEMENTS
        if function.name and enough and length <= MOST_LINES:
            yield function.name, number


def read_sources(tree: Path, language: str) -> Sources:
    """The sources of a tree in one language. Links are not followed, and what is not UTF-8 is left out."""
    texts: dict[str, str] = {}
    for folder, folders, names in os.walk(tree):
        folders[:] = sorted(name for name in folders if name not in APART and not name.startswith("."))
        for name in sorted(names):
            path = (Path(folder) / name).relative_to(tree).as_posix()
            grammar = grammar_of(path)
            if grammar is not None and grammar.family == language and len(texts) < MOST_FILES and _is_written(name):
                text = _text(tree, path)
                texts.update({path: text} if text is not None else {})
    return Sources(language, texts)


def _is_written(name: str) -> bool:
    """Whether a file is written by hand, and holds code: minified ones and TypeScript's declarations do not."""
    return ".min." not in name and not name.endswith((".d.ts", ".d.mts", ".d.cts"))


def _text(tree: Path, path: str) -> str | None:
    text = text_below(tree, path, MOST_SOURCE)
    return None if text is None or "\r" in text.replace("\r\n", "\n") else text
