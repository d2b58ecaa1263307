"""What the original does on inputs that nobody was shown: values that can be stored, and how they are compared.

The record is made once per bug (`observe.py`) and stays outside; the probes in it hold inputs, but no expected value. A
probe counts if two runs of the original agree on it and the buggy program does something else. A prediction that does
on them what the *buggy* program does is no repair, whatever tests it passes: it knows their cases. One that differs
from both did something that nothing specifies; it is refused only if it seldom does what the original does. Deviation
from the paper: there a prediction is judged by the tests alone.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from selfplay.answers import AnswerError, answer, lines
from selfplay.oracle.events import Event
from selfplay.workbench.files import TestFile

MOST_RECORDS, MOST_FIELDS = 200_000, 100_000
"""Lines of a record that are read; values of one, most of them inside its text."""
KEPT = 12
"""Probes that each prediction runs."""
ENOUGH = 4
"""Fewer probes show too little: a prediction is not judged by them, and its grade is weakly assured."""
Outcomes = Mapping[str, Mapping[str, str]]
"""Probe -> its outcomes by their place; each is plain JSON, or a digest of it."""


@dataclass(frozen=True)
class Behaviour:
    """`files`: the probes, in place of the tests. `right`: what the original does where the buggy program does
    something else; `wrong`: what that one does. `runs`: what it took to find out; `events`: what the programs did to
    their interpreter meanwhile; these are not stored with it."""

    files: Mapping[str, TestFile] = field(default_factory=dict)
    right: Outcomes = field(default_factory=dict)
    wrong: Outcomes = field(default_factory=dict)
    runs: int = field(default=0, compare=False)
    events: tuple[Event, ...] = field(default=(), compare=False)


def verdict(
    right: Mapping[str, str], wrong: Mapping[str, str], seen: Mapping[str, str]
) -> Literal["right", "wrong", "other"]:
    """`right`, `wrong` or `other`: what the outcomes of one probe are like, where the two programs differ."""
    here = {place: seen.get(place, "") for place in right}
    return "right" if here == dict(right) else "wrong" if here == dict(wrong) else "other"


def outcomes(data: bytes) -> dict[str, dict[str, str]]:
    """What the probes recorded. The first record of a place counts; lines that are no records do not."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for line in islice(lines(data), MOST_RECORDS):
        with suppress(AnswerError):
            place, text = answer(tuple[str, str], line, values=MOST_FIELDS)
            found[place.partition("/")[0]].setdefault(place, text)
    return dict(found)


def choose(
    names: Sequence[Mapping[str, str]], first: Outcomes, second: Outcomes, buggy: Outcomes, most: int
) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """At most `most` probes that tell the two programs apart, spread over the tests, with both outcomes."""
    by_test: dict[str, list[str]] = defaultdict(list)
    telling: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
    for name, test in ((name, test) for one in names for name, test in one.items()):
        now, again, wrong = (dict(run.get(name, {})) for run in (first, second, buggy))
        places = [place for place in now if now[place] == again.get(place) and now[place] != wrong.get(place, "")]
        if places:
            telling[name] = {place: now[place] for place in places}, {place: wrong.get(place, "") for place in places}
            by_test[test].append(name)
    kept: list[str] = []
    while len(kept) < min(most, len(telling)):
        for probes in by_test.values():
            if probes and len(kept) < most:
                kept.append(probes.pop(0))
    return {name: telling[name] for name in kept}
