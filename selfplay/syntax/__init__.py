"""JavaScript, TypeScript and Go sources as syntax trees: functions, unbound and unread names, the shape of functions.

It uses tree-sitter, whose parsers are C libraries that read a text without running it. Python has its own parser and
its own modules (`believable`, `scripted/edits`).
"""

from selfplay.syntax.grammar import GRAMMARS, Grammar, grammar_of
from selfplay.syntax.source import Source, parse

__all__ = ["GRAMMARS", "Grammar", "Source", "grammar_of", "parse"]
