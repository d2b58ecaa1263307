"""Does one regular expression take time in proportion to the length of its text, whatever the text?

Every text of `attack_texts` is tried at a few lengths. Processor time of this thread is measured, and the least of some
runs, so that other work on the machine changes little. A text is suspected when it takes longer than any pattern needs
for a short one; it is found guilty when four times as long takes far more than four times the time, every time.
"""

import re
import time
from collections import deque
from collections.abc import Callable, Iterator

from attack_texts import Family, families

TINY = (12, 20, 60)
"""Times that a word is repeated: what takes `HANGS` for these is exponential, or of a high degree."""
HANGS = 0.01
SHORT, LONG = 250, 1_000
"""Characters of the texts that are tried next."""
SUSPECT = 0.000_1
"""Seconds for `LONG` characters: in proportion most patterns take a fifth, and a square takes more."""
TOO_LONG = 0.1
"""Seconds for `LONG` characters that no pattern needs in proportion, and after which no longer text is tried."""
TIMES, MOST = 4, 8.0
"""How much longer the longest text is, and how much more time it may take: a square takes 16 times as long."""
MEASURABLE, LONGEST = 0.001, 25_000
"""Seconds that the shorter text must take for the two to be compared, and characters to which it is lengthened."""


def grows(source: str | bytes, flags: int = 0, mode: str = "search") -> str:
    """The first family of texts on which the pattern takes more than linear time; empty if there is none."""
    pattern = re.compile(source, flags)
    return next(growths(pattern, mode, families(source, flags, mode == "search")), "")


def growths(pattern: re.Pattern[str] | re.Pattern[bytes], mode: str, tried: list[Family]) -> Iterator[str]:
    run = _runner(pattern, mode)
    for family in tried:
        if any(_hangs(run, family, size) for size in (*(times * len(family.word) for times in TINY), SHORT)):
            yield f"{family}: exponential or of a high degree"
        elif (seconds := _seconds(run, family, LONG)) > TOO_LONG:
            yield f"{family}: {seconds:.1f} s for {LONG} characters"
        elif seconds > SUSPECT and (ratio := _ratio(run, family)) > MOST:
            yield f"{family}: {TIMES} times as long takes {ratio:.1f} times the time"


def _runner(pattern: re.Pattern[str] | re.Pattern[bytes], mode: str) -> Callable[[str], object]:
    """What uses the pattern as the package does; a search goes through the whole text."""
    use: Callable[..., object] = getattr(pattern, "finditer" if mode == "search" else mode)
    done: Callable[..., object] = deque(maxlen=0).extend if mode == "search" else lambda found: found
    if isinstance(pattern.pattern, bytes):
        return lambda text: done(use(text.encode("latin-1")))
    return lambda text: done(use(text))


def _seconds(run: Callable[[str], object], family: Family, size: int, runs: int = 1) -> float:
    """The least time of some runs on a text of so many characters."""
    text, least = family.text(max(size // len(family.word), 1)), float("inf")
    for _ in range(runs):
        start = time.thread_time()
        run(text)
        least = min(least, time.thread_time() - start)
    return least


def _hangs(run: Callable[[str], object], family: Family, size: int) -> bool:
    return _seconds(run, family, size) > HANGS and _seconds(run, family, size, 3) > HANGS


def _ratio(run: Callable[[str], object], family: Family) -> float:
    """How many times as long the longer text takes: the least of a few comparisons, the first of which are short."""
    least, size = float("inf"), LONG
    while size < LONGEST and _seconds(run, family, size) < MEASURABLE:
        size *= 2
        if size == 2 * LONG and _seconds(run, family, TIMES * LONG) < TIMES * SUSPECT:
            return 1.0
    for runs in (1, 2, 3):
        before, after = (_seconds(run, family, length, runs) for length in (size, TIMES * size))
        least = min(least, after / before)
        if least <= MOST:
            break
    return least
