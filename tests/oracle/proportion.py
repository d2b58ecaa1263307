"""Does a step take time in proportion to the length of its text?

Each text is made of one atom again and again, at a length and at twice that: a step whose cost is the square of the
length takes four times as long, one in proportion twice as long.
"""

import time
from collections.abc import Callable

MOST = 3.0
"""Times as long for twice the text: 2 in proportion, 4 for a square; between them what a busy machine adds."""
LEAST_SECONDS = 0.005
"""A run must take so long to be measured, or the text is as long as it gets here."""
LONGEST = 100_000

Step = Callable[[str], object]


def seconds(step: Step, text: str) -> float:
    """The least of three times, which is the one with the least noise."""
    found = []
    for _ in range(3):
        began = time.process_time()
        step(text)
        found.append(time.process_time() - began)
    return min(found)


def grows(step: Step, atom: str, around: tuple[str, str] = ("", ""), shortest: int = 2_000) -> float:
    """How much longer a step takes for twice the text, at the shortest length that can be measured."""
    length = shortest
    while True:
        texts = [around[0] + atom * (size // len(atom)) + around[1] for size in (length, 2 * length)]
        once, twice = seconds(step, texts[0]), seconds(step, texts[1])
        if once >= LEAST_SECONDS or length >= LONGEST:
            return twice / max(once, LEAST_SECONDS / 2)
        length *= 2


def in_proportion(step: Step, atom: str, around: tuple[str, str] = ("", ""), shortest: int = 2_000) -> bool:
    """Measured again when it seems not so: something else may have run."""
    return any(grows(step, atom, around, shortest) <= MOST for _ in range(3))
