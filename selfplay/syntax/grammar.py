"""The node types of each language's grammar, as tables, and its file names."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import PurePosixPath

import tree_sitter
import tree_sitter_go
import tree_sitter_javascript
import tree_sitter_typescript

_JAVASCRIPT_GLOBALS = (
    "arguments globalThis window self document navigator global process Buffer require module exports console "
    "__dirname __filename setTimeout clearTimeout setInterval clearInterval setImmediate clearImmediate "
    "queueMicrotask structuredClone fetch URL URLSearchParams TextEncoder TextDecoder AbortController Event "
    "EventTarget performance crypto Object Function Array Number String Boolean Symbol BigInt Math JSON Date "
    "RegExp Error TypeError RangeError SyntaxError ReferenceError EvalError URIError AggregateError Map Set "
    "WeakMap WeakSet WeakRef Promise Proxy Reflect Intl ArrayBuffer SharedArrayBuffer DataView Atomics "
    "Int8Array Uint8Array Uint8ClampedArray Int16Array Uint16Array Int32Array Uint32Array Float32Array "
    "Float64Array BigInt64Array BigUint64Array NaN Infinity isNaN isFinite parseInt parseFloat encodeURI "
    "encodeURIComponent decodeURI decodeURIComponent escape unescape eval describe it test expect before after "
    "beforeEach afterEach beforeAll afterAll jest vi context specify suite"
)

_GO_GLOBALS = (
    "any bool byte comparable complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string "
    "uint uint8 uint16 uint32 uint64 uintptr true false iota nil append cap clear close complex copy delete imag "
    "len make max min new panic print println real recover _ init main"
)


@dataclass(frozen=True)
class Grammar:
    """One language. All sets hold node types.

    `family`: the language of a repository whose files it reads: TypeScript's are a JavaScript repository's.
    `functions`: nodes with parameters and a body; `blocks`: nodes with a list of statements; `returns` and `raises`:
    statements that end a function; `literals`: constant values. `globals`: names that no file has to define.
    """

    name: str
    family: str
    suffixes: frozenset[str]
    functions: frozenset[str]
    blocks: frozenset[str]
    cases: frozenset[str]
    loops: frozenset[str]
    returns: frozenset[str]
    raises: frozenset[str]
    literals: frozenset[str]
    globals: frozenset[str]

    @cached_property
    def parser(self) -> tree_sitter.Parser:
        """The language's parser; not thread-safe (`source.parse` has the lock)."""
        return tree_sitter.Parser(tree_sitter.Language(_LANGUAGES[self.name]()))


_LANGUAGES: dict[str, Callable[[], object]] = {
    "javascript": tree_sitter_javascript.language,
    "typescript": tree_sitter_typescript.language_typescript,
    "tsx": tree_sitter_typescript.language_tsx,
    "go": tree_sitter_go.language,
}
JAVASCRIPT = Grammar(
    name="javascript",
    family="javascript",
    suffixes=frozenset([".js", ".mjs", ".cjs", ".jsx"]),
    functions=frozenset(
        ["function_declaration", "function_expression", "arrow_function", "method_definition",
         "generator_function", "generator_function_declaration"]
    ),
    blocks=frozenset(["statement_block", "program", "switch_case", "switch_default"]),
    cases=frozenset(["switch_case", "switch_default"]),
    loops=frozenset(["for_statement", "for_in_statement", "while_statement", "do_statement"]),
    returns=frozenset(["return_statement"]),
    raises=frozenset(["throw_statement"]),
    literals=frozenset(["number", "string", "true", "false", "null", "undefined", "regex"]),
    globals=frozenset(_JAVASCRIPT_GLOBALS.split()),
)  # fmt: skip
TYPESCRIPT = replace(JAVASCRIPT, name="typescript", suffixes=frozenset([".ts", ".mts", ".cts"]))
TSX = replace(JAVASCRIPT, name="tsx", suffixes=frozenset([".tsx"]))
GO = Grammar(
    name="go",
    family="go",
    suffixes=frozenset([".go"]),
    functions=frozenset(["function_declaration", "method_declaration", "func_literal"]),
    blocks=frozenset(["statement_list", "source_file"]),
    cases=frozenset(["expression_case", "type_case", "default_case", "communication_case"]),
    loops=frozenset(["for_statement"]),
    returns=frozenset(["return_statement"]),
    raises=frozenset(["goto_statement"]),
    literals=frozenset(
        ["int_literal", "float_literal", "interpreted_string_literal", "raw_string_literal", "rune_literal",
         "true", "false", "nil"]
    ),
    globals=frozenset(_GO_GLOBALS.split()),
)  # fmt: skip
GRAMMARS = {grammar.name: grammar for grammar in (JAVASCRIPT, TYPESCRIPT, TSX, GO)}
FAMILIES = tuple(dict.fromkeys(grammar.family for grammar in GRAMMARS.values()))


def grammar_of(path: str) -> Grammar | None:
    """The grammar of a file, by its name; None if its language has none."""
    suffix = PurePosixPath(path).suffix
    return next((grammar for grammar in GRAMMARS.values() if suffix in grammar.suffixes), None)


def suffixes(family: str) -> list[str]:
    """The file name suffixes of a repository's language."""
    return sorted(suffix for one in GRAMMARS.values() if one.family == family for suffix in one.suffixes)


def language_of(path: str) -> str:
    """The name of the grammar of a file that has one."""
    grammar = grammar_of(path)
    if grammar is None:
        raise ValueError(f"{path} is in no language that is parsed")
    return grammar.name


def walk(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    """The named nodes of a tree, parents first, in source order."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        yield here
        waiting.extend(reversed(here.named_children))
