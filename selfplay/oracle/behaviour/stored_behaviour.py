"""What the original does on inputs that nobody was shown: values that can be stored, and how they are compared.

The record is made once per bug (`observe.py`) and stays outside; the probes in it hold inputs, but no expected value. A
probe counts if two runs of the original agree on it and the buggy program does something else. A repair does on nearly
all of them what the original does, and on few what the *buggy* program does: a program that knows the tests' cases, or
half of the repair, does not. Deviation from the paper: there a prediction is judged by the tests alone.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from selfplay.oracle.behaviour.call_runner import AGAIN, Calls
from selfplay.oracle.behaviour.events import Event
from selfplay.workbench.files import TestFile

KEPT, KEPT_CALLS = 12, 40
"""Probes that each prediction runs: tests with other inputs, and calls of the program."""
ENOUGH = 4
"""Fewer probes show too little: a prediction is not judged by them, and its grade is weakly assured."""
RAISED, WRONG_KIND = '["raised"', '["raised", "TypeError"]'
GONE, SLOW = '"selfplay: gone"', '"selfplay: slow"'
"""Outcomes of a call of what is not there, and of one that was stopped."""
Outcomes = Mapping[str, Mapping[str, str]]
"""Probe -> its outcomes by their place; each is plain JSON, or a digest of it."""


@dataclass(frozen=True)
class Guards:
    """Calls on which the original and the buggy program agree, and what both do (`agreeing_calls.py`)."""

    calls: Calls = field(default_factory=Calls)
    right: Outcomes = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.right)


@dataclass(frozen=True)
class Behaviour:
    """`files`: the probes in place of the tests; `calls`: those that are calls; `novel`: those of these of whose inputs
    nothing stands in the tests; `kinds`: kind -> those of them that are of it (`input_kinds.py`). `right`: what the
    original does where the buggy program does something else; `wrong`: what that one does. `guards`: calls on which
    they agree. `reached`: how many of the changed lines run in the calls, and how many there are (`line_reach.py`).
    `runs`: what it took to find out; `events`: what the programs did to their interpreter meanwhile; these are not
    stored with it."""

    files: Mapping[str, TestFile] = field(default_factory=dict)
    calls: Calls = field(default_factory=Calls)
    novel: frozenset[str] = frozenset()
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    right: Outcomes = field(default_factory=dict)
    wrong: Outcomes = field(default_factory=dict)
    guards: Guards = field(default_factory=Guards)
    reached: tuple[int, int] = (0, 0)
    runs: int = field(default=0, compare=False)
    events: tuple[Event, ...] = field(default=(), compare=False)

    @property
    def tests(self) -> tuple[str, ...]:
        """The probes that are tests."""
        return tuple(probe for probe in self.right if probe not in self.calls.sources)


@dataclass(frozen=True)
class Compared:
    """What a prediction did on the probes that count, each probe with the same weight. `right`, `wrong`: how many
    probes' worth of outcomes are the original's, and the buggy program's."""

    counted: int
    right: float
    wrong: float


def compared(right: Outcomes, wrong: Outcomes, seen: Outcomes) -> Compared:
    """Outcome by outcome. A call of what the prediction has no more does not count."""
    counted = [probe for probe in right if not _gone(right[probe], seen.get(probe, {}))]
    both = [_shares(right[probe], wrong[probe], seen.get(probe, {})) for probe in counted]
    return Compared(len(counted), sum(one for one, _ in both), sum(other for _, other in both))


def _gone(right: Mapping[str, str], seen: Mapping[str, str]) -> bool:
    return GONE in seen.values() and GONE not in right.values()


def _shares(right: Mapping[str, str], wrong: Mapping[str, str], seen: Mapping[str, str]) -> tuple[float, float]:
    here = {place: seen.get(place, "") for place in right}
    same = sum(here[place] == right[place] for place in right)
    buggy = sum(here[place] == wrong[place] for place in right)
    return same / len(right), buggy / len(right)


def _differ(right: str, wrong: str) -> bool:
    """Whether two outcomes tell the programs apart. Where the original refuses an argument and the buggy program finds
    it to be of a kind that it does not take, both refuse it: so may a repair, in either way."""
    return right != wrong and not (right.startswith(RAISED) and wrong == WRONG_KIND)


def choose(
    groups: Mapping[str, str], first: Outcomes, second: Outcomes, buggy: Outcomes, most: int
) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """At most `most` probes that tell the two programs apart, with both outcomes. `groups`: each probe with what it was
    made of; by turns of these."""
    by_group: dict[str, list[str]] = defaultdict(list)
    telling: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
    for name, group in groups.items():
        now, again, wrong = (dict(run.get(name, {})) for run in (first, second, buggy))
        if not now or {GONE, SLOW} & {*now.values(), *again.values()}:
            continue
        places = [
            place for place in now if now[place] == again.get(place) and _differ(now[place], wrong.get(place, ""))
        ]
        if places:
            telling[name] = {place: now[place] for place in places}, {place: wrong.get(place, "") for place in places}
            by_group[group].append(name)
    kept: list[str] = []
    while len(kept) < min(most, len(telling)):
        for probes in by_group.values():
            if probes and len(kept) < most:
                kept.append(probes.pop(0))
    return {name: telling[name] for name in kept}


def choose_both(
    groups: Mapping[str, str], novel: Collection[str], runs: tuple[Outcomes, Outcomes, Outcomes], most: int
) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """The same, with up to half of them `novel`. `runs`: two of the original, one of the buggy program."""
    first = choose({name: group for name, group in groups.items() if name in novel}, *runs, most // 2)
    others = {name: group for name, group in groups.items() if name not in first}
    return {**first, **choose(others, *runs, most - len(first))}


def worn(outcomes: Outcomes, right: Outcomes) -> list[str]:
    """The calls that do something else when they and others are made many times. `right`: what is looked at of
    each."""

    def changed(call: str) -> bool:
        now, later = outcomes.get(call, {}), outcomes[call + AGAIN]
        return any(now.get(place) != later.get(place.replace(call, call + AGAIN, 1)) for place in right[call])

    return [call for call in right if call + AGAIN in outcomes and changed(call)]


def raising(outcomes: Mapping[str, str]) -> str:
    """The kind of exception with which a call ended; empty when it ended without one."""
    last = next(iter(outcomes.values()), "")
    return last if last.startswith(RAISED) else ""


def without_accidents(made: Mapping[str, str], outcomes: Outcomes, seen: Collection[str]) -> dict[str, str]:
    """The calls that end as calls of the tests may: an exception that none of those raises is what happens on an input
    that nothing is specified for."""
    known = {raising(outcomes.get(name, {})) for name in seen}
    return {name: group for name, group in made.items() if raising(outcomes.get(name, {})) in known | {""}}
