"""What the original does on inputs that the solver never saw: storable values, and their comparison.

The record is made once per bug (`observe.py`) and stays outside the sandbox; probes contain inputs, but no expected
values. A probe counts if two runs of the original agree on it and the buggy program differs. A repair agrees with the
original on nearly all probes, and with the *buggy* program on few; a program that memorised the tests' cases, or half
of a repair, does not. Deviation from the paper: there the tests alone judge a prediction.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from selfplay.oracle.behaviour.call_runner import AGAIN, Calls
from selfplay.oracle.behaviour.events import Event
from selfplay.workbench.files import TestFile

KEPT, KEPT_CALLS = 12, 40
"""Probes that each prediction runs: tests with other inputs, and calls of the program."""
ENOUGH = 4
"""With fewer probes a prediction is not judged by them, and its grade is weakly assured."""
RAISED, WRONG_KIND = '["raised"', '["raised", "TypeError"]'
BY_ACCIDENT = frozenset(
    f'["raised", "{name}"]' for name in ("AttributeError", "MemoryError", "NameError", "RecursionError", "TypeError")
)
"""Outcomes of calls that end with an error which an input of another sort brings about."""
GONE, SLOW, UNMADE = '"selfplay: gone"', '"selfplay: slow"', '"selfplay: not made"'
CHANCE = '"selfplay: chance"'
"""Outcomes of a call whose target does not exist, of a call that was stopped, of a call after many such ones, and of
one that drew random numbers."""
NO_ANSWER = frozenset([GONE, SLOW, UNMADE, CHANCE])
Outcomes = Mapping[str, Mapping[str, str]]
"""Probe -> its outcomes by place; each is plain JSON, or a digest of it."""


@dataclass(frozen=True)
class Guards:
    """Calls on which the original and the buggy program agree, and what both do (`agreeing_calls.py`). `unusual`: those
    with an input that a repair may refuse; `partly`: scenarios of which only some steps are in `right`."""

    calls: Calls = field(default_factory=Calls)
    right: Outcomes = field(default_factory=dict)
    unusual: frozenset[str] = frozenset()
    partly: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.right)


@dataclass(frozen=True)
class Behaviour:
    """`files`: the test files with probes instead of tests; `calls`: the call probes; `novel`: call probes whose inputs
    do not occur in the tests; `kinds`: input kind -> its call probes (`input_kinds.py`); `odd`: call probes with an
    input of a type that no test passes there, which refuse nobody (`without_odd`). `right`: the original's outcomes
    where the buggy program differs; `wrong`: the buggy program's outcomes there. `guards`: calls on which both agree;
    `further`: all calls, as far as they last; `constant_caught`: whether the guards catch programs that give most
    probes' answer to all inputs (`constant_programs.py`). `reached`: how many of the changed lines run in any of these
    calls, of how many (`line_reach.py`). `unseen`: mutants of these lines that show in no call, in words, of so many
    `mutants` (`mutation_score.py`). `hash_seed`: drawn once; the original was seen under it, and predictions are, since
    two items of a set have the same order under half of all seeds. `runs`: suite runs that this took; `events`: what
    the programs did to their interpreter meanwhile; neither is stored."""

    files: Mapping[str, TestFile] = field(default_factory=dict)
    calls: Calls = field(default_factory=Calls)
    novel: frozenset[str] = frozenset()
    kinds: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    odd: frozenset[str] = frozenset()
    right: Outcomes = field(default_factory=dict)
    wrong: Outcomes = field(default_factory=dict)
    guards: Guards = field(default_factory=Guards)
    further: Guards = field(default_factory=Guards)
    constant_caught: bool = False
    reached: tuple[int, int] = (0, 0)
    unseen: tuple[str, ...] = ()
    mutants: int = 0
    hash_seed: int = 1
    runs: int = field(default=0, compare=False)
    events: tuple[Event, ...] = field(default=(), compare=False)

    @property
    def tests(self) -> tuple[str, ...]:
        """The probes that are tests."""
        return tuple(probe for probe in self.right if probe not in self.calls.sources)


@dataclass(frozen=True)
class Compared:
    """What a prediction did on the probes that count, each with the same weight. `right`, `wrong`: number of probes
    (with fractions) on which it agrees with the original, and with the buggy program."""

    counted: int
    right: float
    wrong: float


def compared(right: Outcomes, wrong: Outcomes, seen: Outcomes) -> Compared:
    """Compare outcome by outcome. A call does not count if the prediction no longer has its target."""
    counted = [probe for probe in right if not _gone(right[probe], seen.get(probe, {}))]
    both = [_shares(right[probe], wrong[probe], seen.get(probe, {})) for probe in counted]
    return Compared(len(counted), sum(one for one, _ in both), sum(other for _, other in both))


def without_odd(known: Behaviour, seen: Outcomes) -> tuple[Behaviour, list[str]]:
    """The probes that judge this prediction, and the odd ones on which it gives another answer than both programs. What
    is right for an input of a type that no test passes is nowhere said: a repair may refuse it, or do what the original
    does not. As the buggy program it may not answer."""
    apart = {
        name: said for name in known.odd & known.right.keys()
        if GONE not in (said := seen.get(name, {})).values() and said and not _agree(said, known.right[name])
        and (refusing(said) or not _agree(said, known.wrong[name]))
    }  # fmt: skip
    left = {name: said for name, said in known.right.items() if name not in apart}
    return replace(known, right=left), sorted(name for name, said in apart.items() if not refusing(said))


def _agree(seen: Mapping[str, str], known: Mapping[str, str]) -> bool:
    """Whether they agree wherever the outcome is known: only places that tell the programs apart, and last, are."""
    return all(seen.get(place) == outcome for place, outcome in known.items())


def _gone(right: Mapping[str, str], seen: Mapping[str, str]) -> bool:
    return GONE in seen.values() and GONE not in right.values()


def _shares(right: Mapping[str, str], wrong: Mapping[str, str], seen: Mapping[str, str]) -> tuple[float, float]:
    here = {place: seen.get(place, "") for place in right}
    same = sum(here[place] == right[place] for place in right)
    buggy = sum(here[place] == wrong[place] for place in right)
    return same / len(right), buggy / len(right)


@dataclass(frozen=True)
class Looks:
    """Two looks at the original, one at the buggy program. `asserted`: the errors that the F2P tests ask for, as
    outcomes (`asserted_errors.py`)."""

    first: Outcomes
    second: Outcomes
    buggy: Outcomes
    asserted: Collection[str] = ()

    def differ(self, right: str, wrong: str) -> bool:
        """Whether two outcomes tell the programs apart. If the original raises an error for an argument and the buggy
        program raises one for its type, both refuse it: a repair may do either, unless a test asks for the
        original's."""
        both_refuse = right.startswith(RAISED) and wrong == WRONG_KIND and right not in self.asserted
        return right != wrong and not both_refuse


def choose(groups: Mapping[str, str], looks: Looks, most: int) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """At most `most` probes that tell the two programs apart, with both outcomes. `groups`: probe -> its source; probes
    are taken from these in turn."""
    by_group: dict[str, list[str]] = defaultdict(list)
    telling: dict[str, tuple[dict[str, str], dict[str, str]]] = {}
    for name, group in groups.items():
        now, again, wrong = (dict(run.get(name, {})) for run in (looks.first, looks.second, looks.buggy))
        if not now or NO_ANSWER & {*now.values(), *again.values()}:
            continue
        places = [
            place for place in now if now[place] == again.get(place) and looks.differ(now[place], wrong.get(place, ""))
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
    groups: Mapping[str, str], novel: Collection[str], looks: Looks, most: int
) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """Like `choose`, with up to half of the probes `novel`."""
    first = choose({name: group for name, group in groups.items() if name in novel}, looks, most // 2)
    others = {name: group for name, group in groups.items() if name not in first}
    return {**first, **choose(others, looks, most - len(first))}


def most_alike(right: Outcomes) -> list[str]:
    """The probes with the most frequent answer: the same outcomes in the same order."""
    by_answer: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for probe, outcomes in right.items():
        by_answer[tuple(outcomes.values())].append(probe)
    return max(by_answer.values(), key=len, default=[])


def worn(outcomes: Outcomes, right: Outcomes) -> list[str]:
    """The calls whose outcome changes when they and others are repeated many times. `right`: the outcomes to compare
    for each call."""

    def changed(call: str) -> bool:
        now, later = outcomes.get(call, {}), outcomes[call + AGAIN]
        return any(now.get(place) != later.get(place.replace(call, call + AGAIN, 1)) for place in right[call])

    return [call for call in right if call + AGAIN in outcomes and changed(call)]


def raising(outcomes: Mapping[str, str]) -> str:
    """The kind of exception that ended a call; empty if none did."""
    last = next(iter(outcomes.values()), "")
    return last if last.startswith(RAISED) else ""


def refusing(outcomes: Mapping[str, str]) -> bool:
    """Whether a call refuses its input. A program that ran out of something did not: it tried."""
    kind = raising(outcomes)
    return bool(kind) and not any(f'"{name}"' in kind for name in ("RecursionError", "MemoryError"))


def refused(odd: Collection[str], outcomes: Outcomes) -> set[str]:
    """Those of these calls, with an argument of another type than any test passes, that the original refuses: a repair
    may do anything with such an argument, also never end (`while parts: parts -= 1` for 0.5)."""
    return {name for name in odd if raising(outcomes.get(name, {}))}


def without_accidents(
    made: Mapping[str, str], outcomes: Outcomes, seen: Collection[str], raised: frozenset[str] = frozenset(),
    usual: Collection[str] = (),
) -> dict[str, str]:  # fmt: skip
    """The calls that end normally, or with an exception that calls of the tests raise too, or one of `raised`: any
    other exception comes from an input whose result is not specified. Of the `usual` ones only those that no program
    raises on purpose do: a test seldom shows each kind that is documented."""
    known = {raising(outcomes.get(name, {})) for name in seen} | raised | {""}
    return {
        name: group for name, group in made.items()
        if (kind := raising(outcomes.get(name, {}))) in known or (name in usual and kind not in BY_ACCIDENT)
    }  # fmt: skip
