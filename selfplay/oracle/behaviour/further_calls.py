"""Further calls: all that were tried, probes and guards among them, and sequences of calls of one object.

None of them refuses a repair; one that answers a single one otherwise is weakly assured (`oracle/new_code.py`), also
where probes and guards leave a repair some freedom.

A *sequence* takes what a call returned, an object or a function, as the tests do, and uses it in random order, some of
it many times: what is wrong with a state shows only after several steps, and what is wrong with a returned function
only when it is called. A step that returns another object of the same type, such as a copy, goes on with that one.
"""

import ast
import random
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from selfplay.oracle.behaviour.agreeing_calls import by_turns, function_of, guards_of
from selfplay.oracle.behaviour.call_probes import LONGEST, call_tree, name_of, target_of
from selfplay.oracle.behaviour.call_results import TriedCalls, only
from selfplay.oracle.behaviour.stored_behaviour import GONE, SLOW, UNMADE, Guards, without_accidents

KEPT_FURTHER, SEQUENCES, SEQUENCE_STEPS, DIFFERENT = 200, 80, 12, 3
"""Limits: further calls kept beside probes and guards, sequences made, the steps of one, and how many different numbers
and texts these have."""
TIMES = (1, 1, 8, 60)
"""How often a sequence is repeated with the same object; the results of the last time are seen."""
SEQUENCE = "selfplay_t"
"""The name of the helper in calls."""
HELPER = """def several(thing, times, *steps):
    for _ in range(times):
        seen = []
        for step in steps:
            try:
                value = step(thing)
            except Exception as error:
                value = type(error).__name__
            seen.append(value)
            if type(value) is type(thing) and value is not thing:
                thing = value
    return seen, thing
"""


@dataclass
class _Subject:
    """What is made by calls of one function or class: their sources, and how what they return is used, as it follows
    an object: name of the method, or nothing -> sources."""

    made: dict[str, None] = field(default_factory=dict)
    used: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))


def sequences(calls: Sequence[str], more: Sequence[str], seed: int) -> list[str]:
    """Sequences, as calls of the helper, taking what is used in turn. What is used is made as in `calls`, the tests';
    how it is used is taken from these and from `more`."""
    chance, found = random.Random(seed), dict[str, None]()
    every, own = _subjects([*calls, *more]), _subjects(calls)
    known = [(every[name], [*one.made]) for name, one in own.items() if len(every[name].used) > 1]
    for turn in range(3 * SEQUENCES if known else 0):
        one, things = known[turn % len(known)]
        methods = chance.sample([*one.used], min(len(one.used), chance.choice((3, SEQUENCE_STEPS))))
        steps = [f"o{chance.choice([*one.used[name]])}" for name in chance.choices(methods, k=SEQUENCE_STEPS)]
        told = ", ".join(f"lambda o: {step}" for step in _alike(steps, chance))
        made = f"{SEQUENCE}.several({chance.choice(things)}, {chance.choice(TIMES)}, {told})"
        if len(made) <= LONGEST and len(found) < SEQUENCES:
            found[made] = None
    return [*found]


def _alike(steps: Sequence[str], chance: random.Random) -> list[str]:
    """The steps with few different numbers and texts in all, so that they concern the same things."""
    trees = [call_tree(step) for step in steps]
    places = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    for kind in (int, str):
        some = sorted({node.value for node in places if type(node.value) is kind})
        few = chance.sample(some, min(len(some), DIFFERENT))
        for node in places:
            if type(node.value) is kind:
                node.value = chance.choice(few)
    return [ast.unparse(tree) for tree in trees]


def _subjects(calls: Sequence[str]) -> dict[str, _Subject]:
    found = defaultdict[str, _Subject](_Subject)
    for call in calls:
        tree = call_tree(call)
        used = tree.func if isinstance(tree, ast.Call) else tree
        thing = used.value if isinstance(used, ast.Attribute) else used
        if isinstance(thing, ast.Call):
            source, method = ast.unparse(thing), used.attr if isinstance(used, ast.Attribute) else ""
            one = found[name_of(thing)]
            one.made[source] = one.used[method][ast.unparse(tree).removeprefix(source)] = None
    return found


def further_calls(
    tried: Sequence[TriedCalls], judged: Collection[str], shown: Collection[str], calls: Sequence[str], seed: int
) -> Guards:
    """`tried`: calls that reach the changed functions, and those beside. `judged`: names of probes and guards, which
    are kept; `shown`: of calls that tests make; `calls`: the tests' calls. Raises `SandboxError`."""
    made, right = dict[str, str](), dict[str, Mapping[str, str]]()
    for one in tried:
        made |= without_accidents(one.names, one.first, shown)
        right |= one.first
    more = [call for one in tried for name, call in one.names.items() if name not in shown]
    steps = {f"{SEQUENCE}{at}": source for at, source in enumerate(sequences(calls, more, seed))}
    known = replace(tried[0].calls, helpers={**tried[0].calls.helpers, SEQUENCE: HELPER})
    right |= tried[0].bench.call(only(replace(known, sources=steps), steps)) if steps else {}
    left = {name: call for name, call in {**made, **steps}.items() if _whole(right.get(name, {}))}
    groups = {name: _group(call) for name, call in left.items() if name not in judged}
    chosen = [*(name for name in judged if name in left), *by_turns(groups, KEPT_FURTHER, KEPT_FURTHER)]
    return guards_of(known, {name: left[name] for name in chosen}, right, calls)


def _whole(outcomes: Mapping[str, str]) -> bool:
    return bool(outcomes) and not {GONE, SLOW, UNMADE} & {*outcomes.values()}


def _group(call: str) -> str:
    """The called function; of a sequence, the class."""
    target = target_of(call)
    tree = call_tree(call)
    if target.startswith(f"{SEQUENCE}.") and isinstance(tree, ast.Call):
        return f"several {name_of(tree.args[0])}"
    return function_of(call)
