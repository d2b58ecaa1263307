"""Parses a stranger's text within bounds: steps of the parser in proportion to the text, and a depth of its tree.

tree-sitter repairs syntax errors by search, and reads an opener without its closer to the end of the text again and
again: both cost the square of the length. The bounds count what the parser does instead of the time that it takes, so
that the same text is refused on every machine.
"""

import tree_sitter

PIECE = 512
"""Bytes of a text that the parser is given at once. Small, since it may read all of a piece again."""
WORK, AT_LEAST = 16, 4000
"""Bytes read, and steps taken, for each byte of a text that counts as `AT_LEAST` bytes long. 2,800 files of known
projects, minified ones too, took 2.5 at most."""
STEPS = 100
"""Steps of the parser between two of its calls of `progress_callback`."""
DEEPEST = 400
"""Levels of a tree. Hand-written code has 60; what looks upwards from a node costs as much as there are levels."""


class Unreadable(ValueError):
    """A text that gives no tree: it has a syntax error, or it is a `TooCostly` one."""


class TooCostly(Unreadable):
    """A text that takes more than its share of work, or that is nested too deeply."""


class _Allowance:
    """What the parser reads and does, up to a limit; it then finds the end of the text, and is told to stop."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.bytes_left = self.steps_left = WORK * max(len(data), AT_LEAST)

    def read(self, at: int, point: object) -> bytes:
        piece = self.data[at : at + PIECE]
        self.bytes_left -= len(piece)
        return b"" if self.spent else piece

    def stops(self, at: int, has_error: bool) -> bool:
        self.steps_left -= STEPS
        return self.spent

    @property
    def spent(self) -> bool:
        return self.bytes_left < 0 or self.steps_left < 0


def tree_of(parser: tree_sitter.Parser, data: bytes, language: str) -> tree_sitter.Tree:
    """The tree of a text without a syntax error. Raises `Unreadable`."""
    meter = _Allowance(data)
    try:
        tree = parser.parse(meter.read, progress_callback=meter.stops)
    except ValueError:  # it was told to stop
        tree = None
    finally:
        parser.reset()  # else its next text would be read from where it stopped in this one
    if tree is None or meter.spent:
        raise TooCostly(f"too costly to parse as {language}")
    if tree.root_node.has_error:
        raise Unreadable(f"a syntax error in {language}")
    if _is_deep(tree.walk()):
        raise TooCostly(f"nested too deeply in {language}")
    return tree


def _is_deep(cursor: tree_sitter.TreeCursor) -> bool:
    """Whether a tree has more levels than `DEEPEST`. A cursor makes no object for a node."""
    depth = 0
    while depth <= DEEPEST:
        if cursor.goto_first_child():
            depth += 1
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return False
            depth -= 1
    return True
