"""Guards: calls on which the original and the buggy program agree. A repair that breaks something else differs there.

They are made from calls of the tests: from calls of other functions of the changed files (*beside*), which a repair has
no reason to touch, and from calls of the changed functions where the bug does not show. Of a scenario that shows the
bug in one step the other steps are a guard. Some guards may differ, because another algorithm may do something else on
unspecified inputs: one *beside* guard, a fifth of the others, and half of those of one function. A repair of the
function may also refuse an input of a sort that no known call of the tests passes there (`unusual_inputs.py`); such a
guard then does not count.
"""

from collections import defaultdict
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from selfplay.formatting import count
from selfplay.oracle.behaviour.call_probes import varied_calls
from selfplay.oracle.behaviour.call_results import SCENARIO, TriedCalls, only
from selfplay.oracle.behaviour.call_runner import AGAIN_SECONDS, Calls
from selfplay.oracle.behaviour.call_source import target_of
from selfplay.oracle.behaviour.contexts import users_place
from selfplay.oracle.behaviour.probe_runner import OTHER_SEED, Bench
from selfplay.oracle.behaviour.stored_behaviour import (
    GONE,
    NO_ANSWER,
    Guards,
    Outcomes,
    refused,
    refusing,
    without_accidents,
)
from selfplay.oracle.behaviour.unseen_inputs import Novelty, all_novel
from selfplay.oracle.behaviour.unusual_inputs import of_another_type, unusual
from selfplay.oracle.layers import Layer, caught

Key = TypeVar("Key")
SEEN_BESIDE, TRIED_GUARDS, KEPT_GUARDS, OF_A_FUNCTION = 200, 200, 80, 8
"""Limits: calls of the tests to start from, calls made from them, and guards kept, in all and per function."""
ENOUGH_OF_A_FUNCTION = 3
STEPS = "several steps"
MAY_DIFFER, MAY_DIFFER_OF_A_FUNCTION, MAY_DIFFER_BESIDE = 0.2, 0.5, 1
BESIDE = "g"
"""Prefix of the names of *beside* calls."""


def call_beside(tried: TriedCalls, beside: Sequence[str], tests: str, seed: int) -> tuple[TriedCalls, list[str]]:
    """Try calls of other functions of the changed files. `beside`: those that tests make; `tests`: the text of all
    tests. Also returns the names of those that tests make. Raises `SandboxError`."""
    seen = list(beside[:SEEN_BESIDE])
    other = TriedCalls(tried.bench, tried.calls, prefix=BESIDE)
    made = (*varied_calls(seen, (), TRIED_GUARDS, seed), *all_novel(seen, TRIED_GUARDS, seed, Novelty(tests)))
    return other, [*other.add((*seen, *made))][: len(seen)]


def find_guards(tried: Sequence[TriedCalls], shown: Collection[str], calls: Sequence[str]) -> Guards:
    """`tried`: calls that reach the changed functions, and those beside; `shown`: names of those that tests make;
    `calls`: the tests' calls."""
    agreed, every, first = dict[str, Mapping[str, str]](), dict[str, str](), dict[str, Mapping[str, str]]()
    for one in reversed(tried):
        agreed, every, first = agreed | _agreed(one, shown), every | one.names, first | one.first
    kept = by_turns({name: function_of(every[name]) for name in agreed}, KEPT_GUARDS, OF_A_FUNCTION)
    partly = frozenset(name for name in kept if agreed[name] != first[name])
    return guards_of(tried[0].calls, {name: every[name] for name in kept}, agreed, calls, partly)


def guards_of(
    known: Calls, sources: Mapping[str, str], right: Mapping[str, Mapping[str, str]], calls: Sequence[str],
    partly: frozenset[str] = frozenset(),
) -> Guards:  # fmt: skip
    """Calls with their outcomes; `calls`: the tests' calls, from which the others may differ in kind."""
    own = {name: source for name, source in sources.items() if not name.startswith(BESIDE)}
    odd = refused(of_another_type(own, calls), right)
    sources = {name: source for name, source in sources.items() if name not in odd}
    strange = unusual({name: source for name, source in own.items() if name not in odd}, calls)
    chosen = only(replace(known, sources=sources), sources)
    return Guards(chosen, {name: right[name] for name in sources}, strange, partly)


def lasting(found: Sequence[Guards], bench: Bench, calls: Calls, hash_seed: int) -> list[Guards]:
    """Those of each whose outcome stays the same in a user's place, and after these calls in one process."""
    every = Calls()
    for one in found:
        every = joined(every, one.calls) if every.sources else one.calls
    if not every.sources:
        return [*found]
    for again in (bench.call(every, (), users_place(), OTHER_SEED),
                  bench.call(joined(calls, every), hash_seed=str(hash_seed), again=AGAIN_SECONDS)):  # fmt: skip
        found = [_lasting(one, again) for one in found]
    return [*found]


def _lasting(guards: Guards, outcomes: Outcomes) -> Guards:
    right = {name: said for name, said in guards.right.items() if not _differs(guards, name, outcomes)}
    return Guards(only(guards.calls, right), right, guards.unusual & right.keys(), guards.partly & right.keys())


def joined(calls: Calls, guards: Calls) -> Calls:
    """The calls followed by the guards, so that the guards cannot change the calls' outcomes, nor those of calls that
    are repeated: some leave a setting behind."""
    sources = {**calls.sources, **guards.sources}
    late = calls.late + len(sources) - len(calls.sources)
    return replace(calls, sources=sources, helpers={**calls.helpers, **guards.helpers}, late=late)


def _differs(guards: Guards, name: str, seen: Outcomes) -> bool:
    """Whether a program does something else in this guard."""
    said, right = seen.get(name, {}), guards.right[name]
    if name in guards.partly:
        said = {place: outcome for place, outcome in said.items() if place in right}
    return said != right


def _agreed(tried: TriedCalls, shown: Collection[str]) -> dict[str, Mapping[str, str]]:
    """Name -> outcomes, of the calls and steps that no test makes and on which the two programs agree."""
    made = {name: _both(tried, name) for name in tried.names if name not in shown}
    usual = without_accidents(tried.names, tried.first, shown)
    return {name: outcomes for name, outcomes in made.items() if outcomes and name in usual}


def _both(tried: TriedCalls, name: str) -> Mapping[str, str]:
    """What both programs do in a call, empty if they do not agree; in a scenario, the steps on which they agree."""
    said, other = tried.first.get(name, {}), tried.buggy.get(name, {})
    if NO_ANSWER & {*said.values()}:
        return {}
    if said != other and function_of(tried.names[name]) == STEPS:
        agreed = {place: outcome for place, outcome in said.items() if other.get(place) == outcome}
        return agreed if agreed.keys() - {f"{name}/0"} else {}  # how a scenario ends alone says little
    return said if said == other else {}


def function_of(source: str) -> str:
    """The function that a call calls; all scenarios count as one."""
    module, _, name = target_of(source).partition(".")
    return STEPS if module.startswith(SCENARIO) else name


def by_turns(groups: Mapping[Key, Hashable], most: int, of_a_group: int) -> list[Key]:
    """At most `most` names, taken from the groups in turn."""
    left = defaultdict[Hashable, list[Key]](list)
    for name, group in groups.items():
        left[group].append(name)
    kept = [names[at] for at in range(of_a_group) for names in left.values() if at < len(names)]
    return kept[:most]


def damage(guards: Guards, seen: Outcomes) -> Layer | None:
    """Caught when a prediction differs on too many guards, else None. A call does not count if the repair renamed or
    removed its target, or if it refuses an unusual input with any exception."""
    refused = {name for name in guards.unusual if refusing(seen.get(name, {})) and _differs(guards, name, seen)}
    counted = [name for name in guards.right if GONE not in seen.get(name, {}).values() and name not in refused]
    differing = [name for name in counted if _differs(guards, name, seen)]
    function = {name: function_of(guards.calls.sources[name]) for name in counted}
    beside = [name for name in differing if name.startswith(BESIDE)]
    if len(beside) > MAY_DIFFER_BESIDE:
        return _layer(beside, counted, f", {function[beside[0]]} among them,")
    for name in sorted({*function.values()}):
        of_it = [one for one in counted if function[one] == name]
        wrong = [one for one in differing if function[one] == name]
        if len(of_it) >= ENOUGH_OF_A_FUNCTION and len(wrong) > MAY_DIFFER_OF_A_FUNCTION * len(of_it):
            return _layer(wrong, of_it, f" of {name}")
    enough = len(counted) >= ENOUGH_OF_A_FUNCTION
    return _layer(differing, counted, "") if enough and len(differing) > MAY_DIFFER * len(counted) else None


def differing(further: Guards, seen: Outcomes) -> tuple[list[str], int]:
    """The further calls in which a prediction does something else than the original, and how many count: not those
    whose target is gone, or that refuse an unusual input with any exception. One that must be stopped, which the
    original need not be, does something else."""
    counted, other = 0, list[str]()
    for name in further.right:
        said = seen.get(name, {})
        differs = _differs(further, name, seen)
        if GONE in said.values() or (differs and name in further.unusual and refusing(said)):
            continue
        counted += 1
        other += [name] * differs
    return other, counted


def _layer(differing: Sequence[str], every: Sequence[str], of: str) -> Layer:
    calls = f"{len(differing)} of {count(len(every), 'call')}{of}"
    return caught("behaviour", f"it differs from the original on {calls} that the bug does not change", 1)
