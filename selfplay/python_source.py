"""Parses Python sources that strangers wrote, within bounds.

What would take CPython's parser or compiler much memory or time for its length is refused as a syntax error. Imports
only the standard library.
"""

import ast
import codecs
import re
import symtable
import threading
from collections.abc import Iterator
from io import BytesIO
from tokenize import detect_encoding
from typing import Any

_PARSING = threading.Lock()
MOST_PARTS = 200
"""Parts of a dotted name; a statement `import a.b.c` has few."""
_LETTERS = bytes(range(128)) + b"a" * 128
_GAP = r"[ \t\f]*+(?:\\\n[ \t\f]*+)*+"
_DOTTED = re.compile(rf"(?<![\w.])\.*+(?:\w++{_GAP}\.{_GAP}){{{MOST_PARTS}}}")
"""A longer dotted name. CPython 3.11 joins the parts of an imported one anew at each dot and keeps every result until
the parse ends: 200 kB take 10 GB."""
MOST_SOURCE = 1 << 20
"""Characters of a source that is parsed."""
MOST_TOKENS = 200_000
"""Words and signs of a source that is parsed, those of its texts and comments included: a tree may take 920 bytes for
each. Files of numpy and sympy have up to 155,000."""
_WORD = re.compile(r"\w++")
MOST_DIGITS = 14_000
"""Binary digits of a number, and digits of one to base 2, 8 or 16: Python reads any number of them, and then refuses to
write the number down. A text may hold as many."""
_NUMBER = re.compile(rf"(?<!\w)0[xXoObB][\da-fA-F_]{{{MOST_DIGITS // 4}}}")
MOST_FIELDS = 2_000_000_000
"""The most braces times characters beside f-strings: CPython 3.11 walks the whole text of one before each of its
fields, some four billion characters a second."""
MOST_BOUND = 1_000_000
"""The most names that the compiler copies for inner scopes: each gets all that the scopes around it bind."""
DEEPEST = 100
"""How many nodes may be inside each other, each `elif` in its `if`. What copies a tree, or writes it, calls itself up
to six times for each, of the thousand times that Python allows. Of 26,000 files of Python's own library and of the
packages that training needs three are deeper: tables of sympy's polynomials, which are not read."""
MOST_DEPTH, SPARE_DEPTH = 40, 400_000
"""How deep the nodes of a tree may be on average, and what the sum of their depths may be beyond that: a reader that
looks at all inside a node, at each of its levels, takes as many steps as that sum. The files that are read have a mean
of 18 at most."""
MOST_NAMED = 10_000_000
"""Letters of the dotted names of a source's functions and classes: each repeats those around it."""
MOST_TREES, MOST_KEPT = 32, 200_000
"""Sources whose trees are kept, and their characters: they may have as many tokens."""
_KEPT: dict[str, ast.Module] = {}
_KEEPING = threading.Lock()
_SCOPES = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp,
    ast.GeneratorExp,
)  # fmt: skip
_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SCOPE = re.compile(r"\b(?:def|class|lambda|for)\b")
"""A word for each scope at least, and more for other loops."""
_F_STRING = re.compile(r"""\b[rR]?[fF][rR]?['"]""")
_KEEPS_ASCII = re.compile(
    r"utf-8(-sig)?|ascii|iso8859-\d+|cp125\d|cp874|cp932|cp949|cp950|koi8-[rut]|mac-\w+|euc_\w+|gbk|gb2312|gb18030"
    r"|big5\w*|shift_jis\w*|tis-620"
)
"""Codecs of Python in which each byte of ASCII means itself, outside of other characters."""


class HeavySource(SyntaxError):
    """A source that may be Python, and is not read: it would take too much memory or time."""


def syntax_tree(text: str | bytes, mode: str = "exec", minor: int | None = None) -> Any:
    """`ast.parse`, one thread at a time: CPython 3.11 counts recursion for all threads together, and fails with a
    SystemError when two threads parse at once. `minor`: read as Python 3 of this version does, as far as ours knows it.
    Raises `ValueError`, or `SyntaxError`: a `HeavySource` one when the code is nested too deeply, or holds a name of
    too many parts or a number of too many digits."""
    _refuse_long(text)
    read = _as_python_reads(text) if isinstance(text, bytes) else text
    _refuse_costly(read)
    with _PARSING:
        try:
            tree = ast.parse(read, mode=mode, feature_version=minor)
        except (MemoryError, RecursionError) as error:
            raise HeavySource("the code is nested too deeply") from error
    if _NUMBER.search(read) and any(_is_long(node) for node in ast.walk(tree)):
        raise HeavySource(f"a number has more than {MOST_DIGITS} binary digits")
    _refuse_heavy(tree)
    return tree


def short_tree(text: str) -> ast.Module:
    """The tree of a short source that is ours or was read before, which costs only the lock. Raises `SyntaxError`."""
    with _PARSING:
        return ast.parse(text)


def short_expression(text: str) -> ast.expr:
    """The same of an expression."""
    with _PARSING:
        return ast.parse(text, mode="eval").body


def shared_tree(text: str) -> ast.Module:
    """The tree of a source, which nobody may change: of the last ones parsed, as far as they are short, it is kept.
    Raises what `syntax_tree` raises."""
    with _KEEPING:
        tree = _KEPT.pop(text, None)
    tree = tree or syntax_tree(text)
    with _KEEPING:
        _KEPT[text] = tree
        while len(_KEPT) > MOST_TREES or sum(map(len, _KEPT)) > MOST_KEPT:
            del _KEPT[next(iter(_KEPT))]
    return tree


def _refuse_heavy(tree: ast.AST) -> None:
    """Raises `HeavySource` for a tree that is too deep, at most or on average, or whose dotted names are long for
    it."""
    nodes = depths = depth = named = names = 0
    level: list[Any] = [tree]
    while level:
        if depth > DEEPEST:
            raise HeavySource(f"its code is nested more than {DEEPEST} levels deep")
        nodes, depths = nodes + len(level), depths + depth * len(level)
        inner = list[Any]()
        for node in level:
            if node.__class__ in _NAMED:
                named, names = named + 1, names + len(node.name) + 1
            for value in node.__dict__.values():  # `ast.iter_child_nodes` takes five times as long
                if value.__class__ is list:
                    inner += value
                elif isinstance(value, ast.AST):
                    inner.append(value)
        level, depth = [one for one in inner if isinstance(one, ast.AST)], depth + 1
    if depths > MOST_DEPTH * nodes + SPARE_DEPTH:
        raise HeavySource(f"its code is nested {MOST_DEPTH} levels deep on average")
    if named * names > MOST_NAMED and _letters(tree) > MOST_NAMED:  # each name holds at most all others
        raise HeavySource(f"the names of its functions have more than {MOST_NAMED} letters, with those around them")


def _letters(tree: ast.AST) -> int:
    """The letters of the dotted names of a tree's functions and classes."""
    total, waiting = 0, [(tree, 0)]
    while waiting:
        node, around = waiting.pop()
        if isinstance(node, _NAMED):
            around += len(node.name) + 1
            total += around
        waiting += [(one, around) for one in ast.iter_child_nodes(node)]
    return total


def _is_long(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value.bit_length() > MOST_DIGITS


def symbol_table(text: str) -> symtable.SymbolTable:
    """The symbol table of a Python source: the names that each scope binds and reads. Raises what `syntax_tree` raises,
    also for scopes in which the compiler would copy too many names."""
    tree = shared_tree(text)
    if len(_WORD.findall(text)) * len(_SCOPE.findall(text)) > MOST_BOUND and _copied(tree) > MOST_BOUND:
        raise HeavySource(f"its inner scopes are given more than {MOST_BOUND} names")
    with _PARSING:
        try:
            return symtable.symtable(text, "<source>", "exec")
        except (MemoryError, RecursionError) as error:
            raise SyntaxError("the code is nested too deeply") from error


def _as_python_reads(data: bytes) -> str:
    """A source as characters, of which alone all is said and parsed: a text's own word of its encoding counts no more.
    Line ends become `\\n` first, since Python looks for that word in lines that a CR ends, too.

    Raises `SyntaxError` for an encoding in which ASCII is not ASCII (utf-7, unicode_escape, EBCDIC), and for bytes that
    are not in theirs."""
    data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    name = codecs.lookup(detect_encoding(BytesIO(data).readline)[0]).name
    if not _KEEPS_ASCII.fullmatch(name):
        raise SyntaxError(f"the encoding {name[:40]} is not read")
    try:
        return data.decode(name)
    except UnicodeDecodeError as error:
        raise SyntaxError(f"it is no text in {name[:40]}") from error


def _copied(tree: ast.AST) -> int:
    """How many names the compiler copies for all scopes of a module: at most those that are written in the functions
    around each."""
    total, waiting = 0, [(tree, 0)]
    while waiting:
        node, around = waiting.pop()
        inner = around
        if isinstance(node, _SCOPES):
            total += around
            inner += sum(isinstance(one, (ast.Name, ast.arg, ast.alias, *_SCOPES)) for one in _own(node))
        waiting += [(one, inner) for one in ast.iter_child_nodes(node)]
    return total


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope, with the heads of inner scopes and without their bodies."""
    waiting = [*ast.iter_child_nodes(scope)]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)


def _refuse_long(text: str | bytes) -> None:
    if len(text) > MOST_SOURCE:
        raise HeavySource(f"it has more than {MOST_SOURCE} characters")


def _refuse_costly(text: str) -> None:
    """Raises `SyntaxError` for a source that would take the parser much memory or time for its length."""
    _refuse_long_names(text)
    if text.count("{") * len(text) > MOST_FIELDS and _F_STRING.search(text):
        raise HeavySource("it is long, and has f-strings and many braces")
    if len(_WORD.sub("w", text)) - text.count(" ") > MOST_TOKENS:
        raise HeavySource(f"it has more than {MOST_TOKENS} words and signs")


def _refuse_long_names(text: str) -> None:
    """Raises `SyntaxError`. Dots and blanks are those of ASCII, and every other character may be part of a name. A lone
    CR ends a line, too."""
    if text.count(".") < MOST_PARTS:
        return
    letters = text.encode("utf-8", "surrogatepass").translate(_LETTERS).decode("ascii")
    read = letters.replace("\r\n", "\n").replace("\r", "\n")
    most = max(line.count(".") for line in read.replace("\\\n", "").split("\n"))  # a name is in one line, or joined
    if most >= MOST_PARTS and _DOTTED.search(read):
        raise HeavySource(f"a name has more than {MOST_PARTS} parts")
