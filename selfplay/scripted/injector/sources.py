"""What the scripted injector knows of a repository in a language without a survey: its sources.

Which test runs which line is not known. So a change is tried, and the tests that fail are the ones that see it;
functions that tests name are tried first.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from selfplay.believable.product import is_product
from selfplay.patches import is_test_file
from selfplay.plain_text import text_below
from selfplay.scripted.edits.cuts import LONGEST_LINE, MOST_LINES
from selfplay.syntax import GRAMMARS, Source, grammar_of, parse
from selfplay.syntax.grammar import walk
from selfplay.syntax.source import Function, Unreadable, first_line, last_line, statements

MOST_SOURCE, MOST_FILES = 400_000, 2000
"""The most bytes of one file (larger ones are generated), and the most files that are read."""
LEAST_STATEMENTS = 2
APART = frozenset(["node_modules", "vendor", "third_party", "dist", "build", "coverage", "testdata"])
"""Folders of third-party or generated code."""


@dataclass(frozen=True)
class SourcePlace:
    """A function of the product, by its number in its file. `named`: whether a test file has its name."""

    path: str
    name: str
    number: int
    named: bool


@dataclass(frozen=True)
class Sources:
    """The sources of a repository, path -> text."""

    language: str
    texts: Mapping[str, str]

    @cached_property
    def code(self) -> tuple[str, ...]:
        """The files of the product."""
        return tuple(path for path in sorted(self.texts) if is_product(path) and not is_test_file(path))

    @cached_property
    def places(self) -> tuple[SourcePlace, ...]:
        """The functions that can be changed, file by file."""
        return tuple(place for path in self.code for place in self._places(path))

    def source(self, path: str) -> Source:
        """The tree of a file. Raises `Unreadable`."""
        return parse(self.language, self.texts[path])

    def function(self, place: SourcePlace) -> Function:
        return list(self.source(place.path).functions())[place.number]

    @cached_property
    def _words(self) -> frozenset[str]:
        """The names in test files."""
        words = set()
        for path in self.texts:
            if is_test_file(path):
                try:
                    source = self.source(path)
                except Unreadable:
                    continue
                words |= {source.said(n) for n in walk(source.root) if n.type.endswith("identifier")}
        return frozenset(words)

    def _places(self, path: str) -> Iterator[SourcePlace]:
        if any(len(line) > LONGEST_LINE for line in self.texts[path].split("\n")):
            return
        try:
            source = self.source(path)
        except Unreadable:
            return
        for number, function in enumerate(source.functions()):
            length = last_line(function.node) - first_line(function.node) + 1
            enough = len(statements(function.body, source.grammar)) >= LEAST_STATEMENTS
            if function.name and enough and length <= MOST_LINES:
                own = function.name.rsplit(".", 1)[-1]
                yield SourcePlace(path, function.name, number, own in self._words)


def read_sources(tree: Path, language: str) -> Sources:
    """The sources of a tree in one language. Links are not followed, and what is not UTF-8 is left out."""
    texts: dict[str, str] = {}
    for folder, folders, names in os.walk(tree):
        folders[:] = sorted(name for name in folders if name not in APART and not name.startswith("."))
        for name in sorted(names):
            path = (Path(folder) / name).relative_to(tree).as_posix()
            grammar = grammar_of(path)
            if grammar is not None and grammar.name == language and len(texts) < MOST_FILES and ".min." not in name:
                text = _text(tree, path)
                texts.update({path: text} if text is not None else {})
    return Sources(language, texts)


def _text(tree: Path, path: str) -> str | None:
    text = text_below(tree, path, MOST_SOURCE)
    return None if text is None or "\r" in text.replace("\r\n", "\n") else text


def suffixes(language: str) -> list[str]:
    """The file name suffixes of a language."""
    return sorted(GRAMMARS[language].suffixes)
