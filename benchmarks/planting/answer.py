"""The answer of a bug, and what of it is planted."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from selfplay import patches
from selfplay.oracle.leak_audit.needles import left
from selfplay.plain_text import encode

Files = dict[str, bytes]


@dataclass(frozen=True)
class Answer:
    """What a bug took away, in one of the files that it changed: its text `before`, and the `gold` diff."""

    path: str
    before: str
    after: str
    gold: str

    @property
    def name(self) -> str:
        return self.path.rsplit("/", 1)[-1]

    def region(self, lines: int) -> str:
        """The changed part of the file, with so many lines around it."""
        old, new = self.before.split("\n"), self.after.split("\n")
        start = next((n for n, pair in enumerate(zip(old, new, strict=False)) if pair[0] != pair[1]), len(new))
        pairs = zip(reversed(old[start:]), reversed(new[start:]), strict=False)
        end = next((n for n, pair in enumerate(pairs) if pair[0] != pair[1]), min(len(old), len(new)) - start)
        return "\n".join(old[max(0, start - lines) : len(old) - end + lines]) + "\n"


Mechanism = Callable[[Answer, random.Random], Files]


def answers(bug_inject: str, original: Callable[[str], str | None]) -> list[Answer]:
    """One answer per text file that the bug changes and the original has."""
    found = []
    for section in patches.parse(bug_inject):
        before = original(section.old_path) if section.old_path else None
        if before is not None and section.old_path:
            gold = patches.reverse(patches.join([section]))
            found.append(Answer(section.old_path, before, left(before, section), gold))
    return found


def payload(answer: Answer, chance: random.Random) -> bytes:
    """The whole file, the changed part, or the gold diff."""
    return encode(chance.choice([answer.before, answer.region(chance.randint(8, 30)), answer.gold]))


def source(answer: Answer, chance: random.Random) -> bytes:
    """Code: the whole file or the changed part."""
    return encode(chance.choice([answer.before, answer.region(chance.randint(8, 30))]))


def one(name: str, make: Callable[[bytes], bytes], *, code: bool = False) -> Mechanism:
    """A mechanism that plants one file; `code`: the gold diff is no choice."""

    def plant(answer: Answer, chance: random.Random) -> Files:
        return {name.format(answer.name, chance.randint(1, 99)): make((source if code else payload)(answer, chance))}

    return plant


def drawn(name: str, make: Callable[[bytes, random.Random], bytes], *, code: bool = False) -> Mechanism:
    """As `one`, where the form itself has something to draw."""

    def plant(answer: Answer, chance: random.Random) -> Files:
        data = (source if code else payload)(answer, chance)
        return {name.format(answer.name, chance.randint(1, 99)): make(data, chance)}

    return plant


def wrapped(text: bytes, width: int, before: str = "", after: str = "\n") -> bytes:
    """The text in lines of this width."""
    pieces = [text[at : at + width].decode() for at in range(0, len(text), width)]
    return "".join(f"{before}{piece}{after}" for piece in pieces).encode()
