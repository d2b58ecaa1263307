"""Code as runs of tokens (shingles), which do not depend on layout: white space, comments, line prefixes.

Part of the search inside the sandbox, after `bounds.py`. `selfplay.oracle.leak_audit.needles` imports it, so that both
sides cut text in the same way. A *view* is one way to reduce a text: `listed` drops what listings put before and after
a line, the others (`hash`, `slash`, `plain`) drop the comments of one kind of language.
"""

import re
from typing import Iterator

CHUNK = 1 << 20
"""Bytes cut into tokens at a time: tokens take ten times the memory of the text."""
TOKEN = re.compile(rb"[A-Za-z0-9_\x80-\xff]+|[!#-&(-/:-@\[\]^{-~]")
"""A word or one sign. Quotes and backslashes are left out, because copies often change them."""
BEFORE = re.compile(
    rb"^(?:[0-9a-f^]{7,40}[^\S\n][^()\n]{0,200}\([^()\n]{1,120}\d\)|[^\S\n]{0,20}[\w.-]{1,40}[^\S\n]+\d+:)?"
    rb"(?:[^\S\n]|[+<>#!*|;:%-]|//|/\*|[\w./-]{1,200}[:-]\d+[:-]|\d+[^\S\n]|\d+[:|.,)]|\[?[\"'])*",
    re.MULTILINE,
)
HASH = re.compile(rb"(?:^|(?<=[^\S\n]))#[^\n]*", re.MULTILINE)
LEFT = re.compile(rb"^[ \t>|]*-[^\n]*\n?", re.MULTILINE)
RIGHT = re.compile(rb"^[ \t>|]*\+[^\n]*\n?", re.MULTILINE)
ARROW = re.compile(rb"#[^\S\n]*<{3,}[^\n]*")
HASHED = (".py", ".pyi", ".pyx", ".pxd", ".sh", ".bash", ".rb", ".pl", ".r", ".jl", ".yaml", ".yml", ".toml", ".cmake")
SLASHED = (
    ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".java", ".kt", ".go",
    ".rs", ".swift", ".php", ".scala", ".css", ".scss", ".m",
)  # fmt: skip


def view_of(path: str) -> str:
    """The view that drops comments in a file of this name."""
    lower = path.lower()
    return "hash" if lower.endswith(HASHED) else "slash" if lower.endswith(SLASHED) else "plain"


def without_slashes(text: bytes) -> bytes:
    """The text without `// comments` and `/* comments */`. An unclosed comment is left as it is."""
    parts, at = [], 0
    while True:
        start = text.find(b"/*", at)
        end = text.find(b"*/", start + 2) if start >= 0 else -1
        if end < 0:
            break
        parts.append(text[at:start])
        at = end + 2
    return re.sub(rb"//[^\n]*", b"", b" ".join([*parts, text[at:]]))


def listed(text: bytes) -> bytes:
    """The text without what listings, quotations and comments put around lines."""
    text = BEFORE.sub(b"", ARROW.sub(b"", text))
    return b"\n".join([line.rstrip(b"\"',$ \t\r") for line in text.split(b"\n")])


def seen(view: str, text: bytes) -> bytes:
    """Reduce the text to this view."""
    if view == "listed":
        return listed(text)
    if view == "hash":
        return HASH.sub(b"", text)
    return without_slashes(text) if view == "slash" else text


def tokens(view: str, text: bytes) -> "list[bytes]":
    """The tokens of a text in this view."""
    return TOKEN.findall(seen(view, text))


def shingles(found: "list[bytes]", length: int) -> "Iterator[tuple[bytes, ...]]":
    """Every run of `length` tokens, in order."""
    return (tuple(found[at : at + length]) for at in range(len(found) - length + 1))


def chunks(data: bytes) -> "list[bytes]":
    """The text in pieces, cut at line ends if possible."""
    if len(data) <= CHUNK:
        return [data]
    pieces, at = [], 0
    while at < len(data):
        end = at + CHUNK
        if end < len(data):
            cut = data.rfind(b"\n", at, end)
            end = cut + 1 if cut > at else end
        pieces.append(data[at:end])
        at = end
    return pieces


class Shingles:
    """What to search for: sets of shingles, each of one view and length. `anchors`: words, rare ones first, each with
    the shingles that contain it; a text without these words is skipped."""

    def __init__(self, wanted):
        self.sets = {
            (view, length): {tuple(text.encode("latin-1").split(b" ")): index for index, text in enumerate(texts)}
            for view, length, texts in wanted["sets"]
        }
        self.first = {kind: {shingle[0] for shingle in known} for kind, known in self.sets.items()}
        self.longest = max([length for _, length in self.sets], default=1)
        self.anchors = [(word.encode("latin-1"), set(held)) for word, held in wanted["anchors"]]
        self.numbers, start = [], 0
        for known in self.sets.values():
            self.numbers.append(set(range(start, start + len(known))))
            start += len(known)

    def count(self, kind):
        return len(self.sets[kind])

    def words(self):
        """A set of words such that every shingle contains one."""
        covered, found = set(), []
        for word, held in self.anchors:
            if held - covered:
                covered |= held
                found.append(word)
        return found

    def anchored(self, data, least):
        """Whether the text's anchor words allow this share of the shingles of one set."""
        possible = [(numbers, max(1, least * len(numbers))) for numbers in self.numbers]
        for word, held in self.anchors:
            if word not in data:
                left = [(numbers - held, enough) for numbers, enough in possible]
                possible = [(numbers, enough) for numbers, enough in left if len(numbers) >= enough]
                if not possible:
                    return False
        return bool(possible)

    def find(self, data, least):
        """(view, length) -> the shingles found; empty if fewer than the share `least` can occur. A diff is also read as
        its old and as its new side."""
        if not self.sets or not self.anchored(data, least):
            return {}
        sides = [None, LEFT, RIGHT] if b"@@" in data else [None]
        found = {}
        for side in sides:
            for kind, hits in self.side(data, side).items():
                found[kind] = max(found.get(kind, set()), hits, key=len)
        return found

    def side(self, data, side):
        found = {kind: set() for kind in self.sets}
        views = {view for view, _ in self.sets}
        tails = {view: [] for view in views}
        for chunk in chunks(data):
            text = side.sub(b"", chunk) if side else chunk
            for view in {"listed"} & views if side else views:
                cut = tails[view] + tokens(view, text)
                tails[view] = cut[-(self.longest - 1) :]
                for kind in self.sets:
                    if kind[0] == view:
                        found[kind] |= self.held(kind, cut)
        return found

    def held(self, kind, cut):
        """The shingles of this set that occur in these tokens."""
        known, first, length = self.sets[kind], self.first[kind], kind[1]
        found = {known.get(tuple(cut[at : at + length])) for at, token in enumerate(cut) if token in first}
        return found - {None}
