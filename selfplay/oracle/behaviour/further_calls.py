"""Further calls: all that were tried, probes and guards among them, sequences of calls of one object (`sequences.py`),
and calls that are looked at closely (`call_effects.py`). Those that show a mutant (`mutation_score.py`) are kept first;
for mutants that none of them shows, more are tried.

None of them refuses a repair; one that answers a single one otherwise is weakly assured (`oracle/new_code`), also
where probes and guards leave a repair some freedom.
"""

import ast
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from selfplay.oracle.behaviour.agreeing_calls import BESIDE, by_turns, function_of, guards_of
from selfplay.oracle.behaviour.call_effects import EFFECTS, looked_at
from selfplay.oracle.behaviour.call_effects import HELPER as LOOKING
from selfplay.oracle.behaviour.call_probes import Asked, varied_calls
from selfplay.oracle.behaviour.call_results import SCENARIO, TriedCalls, only
from selfplay.oracle.behaviour.call_runner import Calls
from selfplay.oracle.behaviour.call_source import call_tree, name_of, target_of
from selfplay.oracle.behaviour.line_reach import ran_in
from selfplay.oracle.behaviour.mutation_score import Mutants, enough_shown
from selfplay.oracle.behaviour.probe_runner import Bench
from selfplay.oracle.behaviour.sequences import HELPER, SEQUENCE, sequences
from selfplay.oracle.behaviour.single_changes import SINGLE, single_changes
from selfplay.oracle.behaviour.stored_behaviour import NO_ANSWER, Guards, without_accidents
from selfplay.oracle.behaviour.unusual_inputs import unusual

KEPT_FURTHER = 200
"""Further calls kept beside probes and guards, those that show a mutant, and those that are looked at closely."""
SEARCHES, MOST_SEARCHES, SEARCHED_CALLS, SEARCHED = 2, 6, 300, "selfplay_u"
"""Where no call shows a mutant, so many more are made so often, and up to `MOST_SEARCHES` times while the grade would
be weak for it, with names of this prefix."""

NEAR = 120
"""How many calls that run the lines of such mutants are varied."""
NO_CALLS = (SCENARIO, SEQUENCE, EFFECTS)
"""What is called in steps of several calls, which are not varied."""


class _SearchStart(NamedTuple):
    """Where a search begins: at the tests' calls, and at those `near` what no call has shown, with what is named
    there."""

    of_tests: Sequence[str]
    near: Sequence[str]
    wanted: Asked


def further_calls(
    tried: Sequence[TriedCalls], judged: Collection[str], shown: Collection[str], calls: Sequence[str],
    mutants: Mutants, seed: int,
) -> Guards:  # fmt: skip
    """`tried`: calls that reach the changed functions, and those beside. `judged`: names of probes and guards, which
    are kept, as are those that show `mutants`; `shown`: of calls that tests make; `calls`: the tests' calls. Raises
    `SandboxError`."""
    made, right, bench = dict[str, str](), dict[str, Mapping[str, str]](), tried[0].bench
    for one in tried:
        made |= without_accidents(
            one.names, one.first, shown, bench.raised, one.names.keys() - unusual(one.names, calls)
        )
        right |= one.first
    more = [call for one in tried for name, call in one.names.items() if name not in shown]
    known = replace(tried[0].calls, helpers={**tried[0].calls.helpers, SEQUENCE: HELPER, EFFECTS: LOOKING})
    reaching = (call for name, call in tried[0].names.items() if name in shown)
    own = [call for call in reaching if not target_of(call).startswith(NO_CALLS)]
    steps = (
        _numbered(SINGLE, single_changes(own, seed))
        | _numbered(SEQUENCE, sequences(calls, more, seed, bench.methods))
        | _numbered(EFFECTS, looked_at([*tried[0].names.values()], seed))
    )
    right |= bench.call(only(replace(known, sources=steps), steps)) if steps else {}
    steps = without_accidents(steps, right, shown, bench.raised)
    left = {name: call for name, call in {**made, **steps}.items() if _whole(right.get(name, {}))}
    first = {name: left[name] for name in judged if name in left}
    telling = _telling(mutants, known, {**first, **left}, calls)
    ran = dict[str, frozenset[int]]()
    for turn in range(MOST_SEARCHES):
        unseen = mutants.unseen(left)
        if not unseen or (turn >= SEARCHES and enough_shown(len(unseen), len(mutants.words))):
            break
        places = mutants.unseen_places(left)
        near = _running({one.line for one in places}, replace(known, sources=left), bench, ran, seed + turn)
        wanted = bench.asked.named_in("\n".join(one.statement for one in places))
        begin = _SearchStart(calls, near, wanted)
        fresh = _searched(tried[0], known, begin, f"{SEARCHED}{turn}_", seed + turn, right, shown)
        left |= fresh
        telling += _telling(mutants, known, fresh, calls)
    kept = dict.fromkeys([*first, *telling, *(name for name in left if name.startswith((EFFECTS, SINGLE)))])
    groups = {name: _group(call) for name, call in left.items() if name not in kept}
    chosen = dict.fromkeys([*kept, *by_turns(groups, KEPT_FURTHER, KEPT_FURTHER)])
    return guards_of(known, {name: left[name] for name in chosen}, right, calls)


def _telling(mutants: Mutants, known: Calls, sources: Mapping[str, str], calls: Sequence[str]) -> list[str]:
    """The calls that show mutants which none has shown before."""
    strange = unusual({name: source for name, source in sources.items() if not name.startswith(BESIDE)}, calls)
    return mutants.show(only(replace(known, sources=sources), sources), strange)


def _running(
    lines: Collection[int], known: Calls, bench: Bench, ran: dict[str, frozenset[int]], seed: int
) -> list[str]:
    """Some of the calls that run each of these lines, of the lines in turn. `ran` gains the lines of the calls that it
    lacks."""
    alone = [name for name, source in known.sources.items() if not target_of(source).startswith(NO_CALLS)]
    random.Random(seed).shuffle(alone)
    fresh = only(known, {*alone} - ran.keys())
    ran |= {name: ran_in(said) for name, said in bench.lines(fresh).items()} if fresh.sources else {}
    at = {(line, name): line for line in sorted(lines) for name in alone if line in ran.get(name, ())}
    return [*dict.fromkeys(known.sources[name] for _, name in by_turns(at, NEAR, NEAR))]


def _searched(
    tried: TriedCalls, known: Calls, begin: _SearchStart, prefix: str, seed: int,
    right: dict[str, Mapping[str, str]], shown: Collection[str],
) -> dict[str, str]:  # fmt: skip
    """Fresh calls and sequences, named with this prefix, that end as calls of the tests do. `right` gains what the
    original does in them."""
    (of_tests, near, wanted), bench = begin, tried.bench
    others = [*tried.names.values(), *of_tests]
    varied = [*varied_calls(near, others, SEARCHED_CALLS, seed, wanted),
              *varied_calls(of_tests, others, SEARCHED_CALLS, seed, bench.asked)]  # fmt: skip
    things = [*of_tests, *varied]
    fresh = _numbered(prefix, [*varied, *sequences(things, things, seed, bench.methods), *looked_at(varied, seed)])
    right |= bench.call(only(replace(known, sources=fresh), fresh))
    whole = {name: source for name, source in fresh.items() if _whole(right.get(name, {}))}
    return without_accidents(whole, right, shown, bench.raised, whole.keys() - unusual(whole, of_tests))


def _numbered(prefix: str, sources: Sequence[str]) -> dict[str, str]:
    """The calls by name."""
    return {f"{prefix}{at}": source for at, source in enumerate(sources)}


def _whole(outcomes: Mapping[str, str]) -> bool:
    return bool(outcomes) and not NO_ANSWER & {*outcomes.values()}


def _group(call: str) -> str:
    """The called function; of a sequence, the class."""
    target = target_of(call)
    tree = call_tree(call)
    if target.startswith(f"{SEQUENCE}.") and isinstance(tree, ast.Call):
        return f"several {name_of(tree.args[0])}"
    return function_of(call)
