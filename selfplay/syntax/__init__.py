"""Sources of JavaScript and Go as syntax trees: functions, names that nothing binds or reads, the shape of functions.

By tree-sitter, whose parsers are C libraries that read a text and run nothing of it. Python has its own parser and its
own modules (`believable`, `scripted/edits`).
"""

from selfplay.syntax.grammar import GRAMMARS, Grammar, grammar_of
from selfplay.syntax.source import Source, parse

__all__ = ["GRAMMARS", "Grammar", "Source", "grammar_of", "parse"]
