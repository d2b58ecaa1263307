"""Can the calls of a bug tell wrong repairs from the right one? Mutants of the lines that the bug changed are wrong
repairs that nobody had to think of: a bug of which many show in no call is judged by inputs of too few shapes.

A mutant shows if one call is answered otherwise, the rule by which a grade is fully assured (`oracle/new_code`).
Some mutants are no change at all (equivalent mutants), so a few may stay unseen.
"""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from selfplay.oracle.behaviour.call_runner import Additions, Calls
from selfplay.oracle.behaviour.changed_code import changed_numbers
from selfplay.oracle.behaviour.probe_runner import Bench
from selfplay.oracle.originals import read_originals
from selfplay.oracle.rewriting.mutants import Placed, with_mutants
from selfplay.plain_text import decode, encode
from selfplay.untrusted_json import json_value
from selfplay.workbench.files import TestFile

MOST_MUTANTS = 32
"""The most mutants of a bug, in all its files."""
UNSEEN = 0.25
"""If a larger share of the mutants shows in no call, the grade is weakly assured."""
OTHERWISE = "otherwise"
"""Stands for a call where a mutant ended or held up the process of the calls, or ran only while it was loaded."""


def enough_shown(unseen: int, mutants: int) -> bool:
    """Whether the calls show enough of the mutants. One unseen may be no change at all."""
    return unseen <= max(1, UNSEEN * mutants)


@dataclass
class Mutants:
    """The mutants of one bug. `files`: the changed files of the original with all of them; `words`: what each changes,
    numbered from 1; `placed`: where they are. `shown_by`: number -> some of the calls that show it, for each that was
    tried."""

    bench: Bench
    files: Mapping[str, TestFile]
    words: tuple[str, ...]
    placed: tuple[Placed, ...] = ()
    shown_by: dict[int, set[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, bench: Bench) -> "Mutants":
        lines, seed = changed_numbers(bench.task), secrets.randbits(64)
        originals = read_originals(bench.task.world, [*lines])
        made, found = dict[str, TestFile](), list[Placed]()
        for path, file in originals.items():
            most = max(1, MOST_MUTANTS // len(originals))
            text, more = with_mutants(decode(file.content), lines[path], most, seed, len(found) + 1)
            made[path] = replace(file, content=encode(text))
            found += more
        return cls(bench, made, tuple(one.words for one in found), tuple(found))

    def show(self, calls: Calls, unusual: frozenset[str]) -> list[str]:
        """Make the calls of each mutant that is still unseen; returns those that show one. Raises `SandboxError`."""
        return self._show(calls, unusual, [number for number in self._numbers if not self.shown_by.get(number)])

    def show_again(self, calls: Calls, unusual: frozenset[str]) -> None:
        """Make these calls, the ones that are kept, of each mutant that none of them is known to show."""
        self._show(calls, unusual, self._unseen(calls.sources))

    def unseen(self, calls: Collection[str]) -> tuple[str, ...]:
        """Those that none of these calls shows, in words; also those that could not be tried."""
        return tuple(self.words[number - 1] for number in self._unseen(calls))

    def unseen_places(self, calls: Collection[str]) -> list[Placed]:
        """Where they are."""
        return [self.placed[number - 1] for number in self._unseen(calls)]

    @property
    def _numbers(self) -> range:
        return range(1, len(self.words) + 1)

    def _unseen(self, calls: Collection[str]) -> list[int]:
        kept = {OTHERWISE, *calls}
        return [number for number in self._numbers if not self.shown_by.get(number, set()) & kept]

    def _show(self, calls: Calls, unusual: frozenset[str], numbers: Sequence[int]) -> list[str]:
        if not numbers or not calls.sources:
            return []
        planted = Additions(mutants=tuple(numbers), unusual=unusual)
        telling = dict[str, None]()
        for place, said in self.bench.mutants(calls, self.files, planted).get("mutant", {}).items():
            names = [name for name in json_value(encode(said)) if name in calls.sources or name == OTHERWISE]
            self.shown_by.setdefault(int(place.partition("/")[2]), set()).update(names)
            telling |= dict.fromkeys(name for name in names if name != OTHERWISE)
        return [*telling]
