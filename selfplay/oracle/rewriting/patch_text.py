"""What a patch does to the text of a Python file, which no tree of it holds: letters that are not seen or look like
others, line ends, documentation and comments that are gone."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from selfplay.oracle.rewriting.python_trees import Function, parsed

UNSEEN = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
"""Letters of no width, and those that turn the direction of what follows."""
MOST_COMMENTS = 5
"""So many comments may go with the code that they told of."""
_COMMENT = re.compile(r"^[ \t]*#[^\n]*$", re.MULTILINE)


def of_text(known: Sequence[str], now: str) -> Iterator[str]:
    """Sentences about a file's new text; `known`: that of the original, and of the buggy program."""
    for letter in sorted({*UNSEEN.findall(now)} - {*UNSEEN.findall("".join(known))}):
        yield f"it has a letter that is not seen (U+{ord(letter):04X})"
    if "\r\n" in now and not any("\r\n" in one for one in known):
        yield "its line ends are others"
    trees = [parsed(one) for one in (now, *known)]
    names = [_names(one) for one in trees]
    for name in sorted(names[0].difference(*names[1:])):
        if not name.isascii():
            yield f"the name `{name}` has letters that look like others"
    comments = [Counter(one.strip() for one in _COMMENT.findall(text)) for text in (now, *known)]
    lost = (comments[1] & comments[-1]) - comments[0]
    if lost.total() > MOST_COMMENTS:
        yield f"{lost.total()} comments are gone, which the bug left as they were"
    told = [_documented(one) for one in trees]
    for name in told[1].keys() & told[-1].keys() & told[0].keys():
        if not told[0][name] and told[1][name] and told[-1][name]:
            yield f"the documentation of `{name or 'the module'}` is gone, which the bug left as it was"


def _names(tree: ast.Module | None) -> set[str]:
    """The names that a file binds or reads."""
    nodes = ast.walk(tree) if tree is not None else ()
    return {str(getattr(one, "id", None) or getattr(one, "name", None) or getattr(one, "arg", "")) for one in nodes}


def _documented(tree: ast.Module | None) -> dict[str, bool]:
    """The module, each function and each class, by its path of names: whether it has documentation."""
    found = dict[str, bool]()
    left: list[tuple[str, ast.AST]] = [("", tree)] if tree is not None else []
    while left:
        around, node = left.pop()
        if isinstance(node, ast.Module | ast.ClassDef | Function):
            found[around] = ast.get_docstring(node, clean=False) is not None
        for child in ast.iter_child_nodes(node):
            inner = isinstance(child, ast.ClassDef | Function)
            left.append((f"{around}.{child.name}".lstrip(".") if inner else around, child))  # type: ignore[attr-defined]
    return found
