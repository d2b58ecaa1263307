"""Guards: calls on which the original and the buggy program agree. A repair that breaks something else differs there.

They are made from calls of the tests: from calls of other functions of the changed files (*beside*), which a repair has
no reason to touch, and from calls of the changed functions where the bug does not show. Of a scenario that shows the
bug in one step the other steps are a guard. Some guards may differ, because another algorithm may do something else on
unspecified inputs: one *beside* guard, a fifth of the others, and half of those of one function. A repair of the
function may also refuse an input of a sort that no known call of the tests passes there (`unusual_inputs.py`); such a
guard then does not count.

All other calls that were tried are *further* calls, whether the two programs agree or not. None of them refuses a
repair, but one that answers a single one otherwise is weakly assured (`oracle/new_code.py`).
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from selfplay.formatting import count
from selfplay.oracle.behaviour.call_probes import target_of, varied_calls
from selfplay.oracle.behaviour.call_results import SCENARIO, TriedCalls, only
from selfplay.oracle.behaviour.call_runner import Calls
from selfplay.oracle.behaviour.contexts import users_place
from selfplay.oracle.behaviour.probe_runner import OTHER_SEED
from selfplay.oracle.behaviour.stored_behaviour import (
    GONE,
    SLOW,
    UNMADE,
    Guards,
    Outcomes,
    raising,
    without_accidents,
)
from selfplay.oracle.behaviour.unseen_inputs import all_novel
from selfplay.oracle.behaviour.unusual_inputs import unusual
from selfplay.oracle.layers import Layer, caught

SEEN_BESIDE, TRIED_GUARDS, KEPT_GUARDS, OF_A_FUNCTION, KEPT_FURTHER = 200, 200, 80, 8, 200
"""Limits: calls of the tests to start from, calls made from them, guards kept, in all and per function, and further
calls kept."""
ENOUGH_OF_A_FUNCTION = 3
STEPS = "several steps"
MAY_DIFFER, MAY_DIFFER_OF_A_FUNCTION, MAY_DIFFER_BESIDE = 0.2, 0.5, 1
BESIDE = "g"
"""Prefix of the names of *beside* calls."""


def find_guards(
    tried: TriedCalls, of_tests: Collection[str], beside: Sequence[str], tests: str, seed: int, kept: Collection[str]
) -> tuple[Guards, Guards]:
    """The guards, and the further calls. `tried`: calls that reach the changed functions; `of_tests`: those that tests
    make; `beside`: calls of the tests that do not reach them; `tests`: the text of all tests; `kept`: the probes.
    Raises `SandboxError`."""
    seen = list(beside[:SEEN_BESIDE])
    other = TriedCalls(tried.bench, tried.calls, prefix=BESIDE)
    made = (*varied_calls(seen, (), TRIED_GUARDS, seed), *all_novel(seen, tests, TRIED_GUARDS, seed))
    shown = other.add((*seen, *made))[: len(seen)]
    every, of_all = tried.names | other.names, {**tried.first, **other.first}
    agreed = {**_agreed(other, shown), **_agreed(tried, of_tests)}
    sources = by_turns({name: function_of(every[name]) for name in agreed}, KEPT_GUARDS, OF_A_FUNCTION)
    left = {**_whole(other, shown), **_whole(tried, of_tests)}
    groups = {name: function_of(every[name]) for name in left if name not in kept and name not in sources}
    further = by_turns(groups, KEPT_FURTHER, KEPT_FURTHER)
    calls = only(replace(tried.calls, sources={name: every[name] for name in (*sources, *further)}), every)
    again = tried.bench.call(calls, (), users_place(), OTHER_SEED) if calls.sources else {}
    tests_calls = [*beside, *(tried.names[name] for name in of_tests)]
    strange = unusual({name: every[name] for name in calls.sources if not name.startswith(BESIDE)}, tests_calls)
    partly = {name for name in sources if agreed[name] != of_all[name]}
    guards = Guards(calls, {name: agreed[name] for name in sources}, strange, frozenset(partly))
    return _lasting(guards, again), _lasting(Guards(calls, {name: left[name] for name in further}, strange), again)


def lasting(guards: Guards, further: Guards, tried: TriedCalls, calls: Calls, hash_seed: int) -> tuple[Guards, Guards]:
    """The guards and further calls whose outcome stays the same after these calls in one process."""
    if not guards and not further:
        return guards, further
    every = joined(joined(calls, guards.calls), further.calls)
    seen = tried.bench.call(every, hash_seed=str(hash_seed))
    return _lasting(guards, seen), _lasting(further, seen)


def _lasting(guards: Guards, outcomes: Outcomes) -> Guards:
    right = {name: said for name, said in guards.right.items() if not _differs(guards, name, outcomes)}
    return Guards(only(guards.calls, right), right, guards.unusual & right.keys(), guards.partly & right.keys())


def joined(calls: Calls, guards: Calls) -> Calls:
    """The calls followed by the guards, so that the guards cannot change the calls' outcomes."""
    return replace(calls, sources={**calls.sources, **guards.sources}, helpers={**calls.helpers, **guards.helpers})


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


def _whole(tried: TriedCalls, shown: Collection[str]) -> dict[str, Mapping[str, str]]:
    """Name -> outcomes of the original, of the calls that no test makes; without scenarios."""
    usual = without_accidents(tried.names, tried.first, shown)
    made = {name: tried.first.get(name, {}) for name in usual if name not in shown}
    return {
        name: outcomes for name, outcomes in made.items()
        if outcomes and not {GONE, SLOW, UNMADE} & {*outcomes.values()} and function_of(tried.names[name]) != STEPS
    }  # fmt: skip


def _both(tried: TriedCalls, name: str) -> Mapping[str, str]:
    """What both programs do in a call, empty if they do not agree; in a scenario, the steps on which they agree."""
    said, other = tried.first.get(name, {}), tried.buggy.get(name, {})
    if {GONE, SLOW, UNMADE} & {*said.values()}:
        return {}
    if said != other and function_of(tried.names[name]) == STEPS:
        agreed = {place: outcome for place, outcome in said.items() if other.get(place) == outcome}
        return agreed if agreed.keys() - {f"{name}/0"} else {}  # how a scenario ends alone says little
    return said if said == other else {}


def function_of(source: str) -> str:
    """The function that a call calls; all scenarios count as one."""
    module, _, name = target_of(source).partition(".")
    return STEPS if module.startswith(SCENARIO) else name


def by_turns(groups: Mapping[str, str], most: int, of_a_group: int) -> list[str]:
    """At most `most` names, taken from the groups in turn."""
    left = defaultdict[str, list[str]](list)
    for name, group in groups.items():
        left[group].append(name)
    kept = [names[at] for at in range(of_a_group) for names in left.values() if at < len(names)]
    return kept[:most]


def damage(guards: Guards, seen: Outcomes) -> Layer | None:
    """Caught when a prediction differs on too many guards, else None. A call does not count if the repair renamed or
    removed its target, or if it refuses an unusual input with any exception."""
    refused = {name for name in guards.unusual if raising(seen.get(name, {})) and _differs(guards, name, seen)}
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
    whose target is gone, that take too long here, or that refuse an unusual input with any exception."""
    counted, other = 0, list[str]()
    for name in further.right:
        said = seen.get(name, {})
        differs = _differs(further, name, seen)
        if {GONE, SLOW} & {*said.values()} or (differs and name in further.unusual and raising(said)):
            continue
        counted += 1
        other += [name] * differs
    return other, counted


def _layer(differing: Sequence[str], every: Sequence[str], of: str) -> Layer:
    calls = f"{len(differing)} of {count(len(every), 'call')}{of}"
    return caught("behaviour", f"it differs from the original on {calls} that the bug does not change", 1)
