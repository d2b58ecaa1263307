"""Writes a bug's answer into its world, in every shape in which the leak audit must find it.

`MECHANISMS`: name -> a function of an `Answer` and a seeded source of chance, which returns the files to plant. For the
same bug and seed the files are the same. What is planted is the whole original file, the changed regions with lines
around them, or the gold diff, drawn by the seed where the shape allows each.
"""

import random

from benchmarks.planting.answer import Answer, Files, Mechanism, answers
from benchmarks.planting.encoded import ENCODED
from benchmarks.planting.history import HISTORY
from benchmarks.planting.packed import PACKED
from benchmarks.planting.texts import TEXTS

__all__ = ["HISTORY", "MECHANISMS", "Answer", "Files", "Mechanism", "answers", "plant"]
MECHANISMS: dict[str, Mechanism] = {**TEXTS, **ENCODED, **PACKED, **HISTORY}


def plant(mechanism: str, answer: Answer, seed: int) -> Files:
    """The files that this mechanism plants for this answer."""
    return MECHANISMS[mechanism](answer, random.Random(f"{mechanism} {answer.path} {seed}"))
