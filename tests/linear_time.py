"""Does a function that reads text of a model or of a repository take time in proportion to its length?

`grows(read)` names the families of hostile texts on which it does not. Processor time of this thread is measured, so
that other work on the machine changes little. Each size is double the one before: in proportion the time doubles, a
quadratic loop makes it four times as long, and `MOST_GROWTH` lies between the two. A step is no growth: what grows
does so at the next doubling too, and whenever it is measured. Others on the machine use its caches too, so a long text
may look dearer than it is for some seconds.
"""

import gc
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

ATOMS = (
    " ", "\t", "\n", "\r", "\r\n", "\0", "a", "ab ", "é", "\u2028", "\udc80", "0", "9.", "_", ".", ",", ":", ";", "=",
    "|", "'", '"', "`", '"""', "'''", "\\", "\\\n", "(", ")", "()", "[", "[]", "]", "{", "{}", "}", "<", ">", "<a>",
    "$", "&", "#", "# ", " # ", "a # b ", "//", " // ", "/*", "*/", "*", "--", "-- ", "<!--", "-->", "%", "@", "@@",
    "@@ -1 +1 @@\n", "- ", "+ ", "+a\n", "-a\n", "a\n", "a \n", " a\n", "\na ", "a=1\n", "a = a # a\n", "[a]\n",
    "a: b\n", "a/", "../", " b/", ' "b/', "a/b b/b ", "diff --git a/a b/a\n", "inject ", "bug ", "inject bug ",
    "def test_a(", "def test_a(b, ", "def test_a():\n    pass\n", "if a:\n    a\nel", "not ", "lambda: ", "-1+", "a.",
    "f'{", "test ", "a* ", "\nSELFPLAY {", "/* \n", "a.b.\n", "a?b:", "a=>{", "${`", "if(a){}else ", "a;\n",
)  # fmt: skip
"""What the hostile texts repeat: what patterns look for, what they skip, and what parsers nest."""
Frames = tuple[tuple[str, str], ...]
FRAMES: Frames = (("", ""), ("a", ""), ("", "b"))
"""What stands around the repeated atom: something that a pattern begins with, something that makes it fail."""
SIZES = (625, 1_250, 2_500, 5_000, 10_000, 20_000, 40_000, 80_000)
"""Characters of a text."""
MOST_GROWTH = 3.0
TIMES = 4
"""How often growth is measured before it is believed, with a longer pause each time."""
FLOOR = 0.02
"""Seconds below which a time is noise: at the largest size a quadratic pattern takes longer."""
ENOUGH = 0.04
"""Seconds after which no larger size is tried: the growth up to here was seen. At the first size it was not."""


class Hostile(Protocol):
    """A text of any length; its name is what `str` gives."""

    def text(self, size: int) -> str: ...


@dataclass(frozen=True)
class Family:
    """Hostile texts of any length, made of one atom."""

    before: str
    atom: str
    after: str

    def text(self, size: int) -> str:
        return f"{self.before}{self.atom * (size // len(self.atom))}{self.after}"

    def __str__(self) -> str:
        return f"{self.before!r} + n * {self.atom!r} + {self.after!r}"


def families(frames: Frames = FRAMES) -> Iterator[Family]:
    return (Family(before, atom, after) for atom in ATOMS for before, after in frames)


def grows(read: Callable[[str], object], enough: float = ENOUGH, frames: Frames = FRAMES) -> list[str]:
    """The families on which `read` takes more than linear time, with the times seen. What it raises goes through.
    `enough`: more for a reader whose bound on work lies far above what it needs. `frames`: fewer for a parser, which
    no pattern begins or fails."""
    return grows_on(read, families(frames), enough)


def grows_on(read: Callable[[str], object], hostile: Iterable[Hostile], enough: float) -> list[str]:
    """The same of these texts."""
    gc.disable()  # a collection takes as long as everything that tests have imported
    try:
        return [found for one in hostile if (found := _every_time(read, one, enough))]
    finally:
        gc.enable()


def _every_time(read: Callable[[str], object], family: Hostile, enough: float) -> str:
    """What `_growth` finds, if it finds something each of `TIMES` times."""
    for again in range(TIMES):
        time.sleep(again)
        if not (found := _growth(read, family, enough)):
            return ""
    return found


def _growth(read: Callable[[str], object], family: Hostile, enough: float) -> str:
    before = 0.0
    for size in SIZES:
        seconds = _seconds(read, family.text(size))
        if _more(before, seconds):  # both again: something else may have slowed the one
            before, seconds = (_least(read, family.text(n)) for n in (size // 2, size))
            if _more(before, seconds) and _more(seconds, after := _least(read, family.text(2 * size))):
                return f"{family}: {seconds:.3f} s at {size} characters, {after:.3f} s at {2 * size}"
        if seconds > enough:
            if before:
                return ""
            seconds = _least(read, family.text(size))
            if seconds > enough:
                return f"{family}: {seconds:.3f} s at {size} characters already"
        before = seconds
    return ""


def _least(read: Callable[[str], object], text: str) -> float:
    return min(_seconds(read, text) for _ in range(7))


def _more(before: float, seconds: float) -> bool:
    return 0 < MOST_GROWTH * before < seconds and seconds > FLOOR


def _seconds(read: Callable[[str], object], text: str) -> float:
    start = time.thread_time()
    read(text)
    return time.thread_time() - start
