"""Finds calls of the program, and scenarios, that show the bug with inputs far from those of the tests."""

import random
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

from selfplay.oracle.behaviour.absolute_imports import absolute_text
from selfplay.oracle.behaviour.agreeing_calls import call_beside, find_guards, joined, lasting
from selfplay.oracle.behaviour.borrowed import helped
from selfplay.oracle.behaviour.call_probes import by_novelty, shape_of, varied_calls
from selfplay.oracle.behaviour.call_results import TriedCalls, only
from selfplay.oracle.behaviour.call_runner import AGAIN_SECONDS, Calls
from selfplay.oracle.behaviour.contexts import drawn_hash_seed, users_place
from selfplay.oracle.behaviour.further_calls import further_calls
from selfplay.oracle.behaviour.input_kinds import ENOUGH_OF_A_KIND, lacking, strata
from selfplay.oracle.behaviour.line_reach import changed_statements, reached
from selfplay.oracle.behaviour.mutation_score import Mutants
from selfplay.oracle.behaviour.probe_runner import OTHER_SEED, Bench
from selfplay.oracle.behaviour.stored_behaviour import (
    ENOUGH,
    KEPT_CALLS,
    Behaviour,
    Outcomes,
    choose,
    choose_both,
    refused,
    without_accidents,
    worn,
)  # fmt: skip
from selfplay.oracle.behaviour.traced_calls import Entered
from selfplay.oracle.behaviour.unseen_inputs import Novelty, all_novel, is_novel
from selfplay.oracle.behaviour.unusual_inputs import of_another_type
from selfplay.oracle.originals import Original, original_texts

SEEN, TRIED_CALLS, NOVEL_CALLS, CONSIDERED_CALLS = 400, 140, 100, 120
"""The most calls of the tests to start from; the most calls made from them, near ones and novel ones (twice as many
from calls that showed the bug); and the most that run again on the original."""


@dataclass(frozen=True)
class Scenario:
    """`source`: of the helper; `call`: the call that runs it; `test`: the test it was made from."""

    source: str
    call: str
    test: str
    novel: bool


@dataclass(frozen=True)
class DrawnCalls:
    """Calls that tell the two programs apart, as they were drawn once. `judged` adds guards and further calls, which
    cost most of a calibration: only the draw that is taken needs them. It raises `SandboxError`."""

    calls: Behaviour = field(default_factory=Behaviour)
    judged: Callable[[], Behaviour] = Behaviour


def observed_calls(bench: Bench, shown: Entered, scenarios: Mapping[str, Scenario], novelty: Novelty) -> DrawnCalls:
    """Try calls made from the tests' calls, then calls made from those that show the bug, and scenarios."""
    seed, hash_seed = secrets.randbits(64), drawn_hash_seed()
    texts, there = original_texts(bench.task.world, [*shown.helpers.values()]), Original(bench.task.world).there
    texts = {path: absolute_text(text, path, there) for path, text in texts.items()}
    ordered = shown.ordered(SEEN, bench.oracle.fail_to_pass, seed)
    tests_of = {shown.modules[module]: texts.get(path, "") for module, path in shown.helpers.items()}
    (seen, beside), helpers = helped((ordered, random.Random(seed).sample(shown.beside, len(shown.beside))), tests_of)
    if not seen and not scenarios:
        return DrawnCalls()
    modules = {module: name for module, name in shown.modules.items() if module not in shown.helpers}
    played = {name: one.source for name, one in scenarios.items()}
    tried = TriedCalls(bench, Calls(shown.python, shown.paths, modules, helpers={**helpers, **played}))
    by_call = {one.call: one for one in scenarios.values()}
    tests, wanted = novelty.shown, bench.asked
    of_tests, steps, *_ = add_by_turns(
        tried, seen, [*by_call], varied_calls(seen, (), TRIED_CALLS, seed, wanted),
        all_novel(seen, NOVEL_CALLS, seed, novelty),
    )  # fmt: skip
    telling = [tried.names[name] for name in tried.telling() if name not in steps]
    known = [source for name, source in tried.names.items() if name not in steps]
    add_by_turns(tried, varied_calls(telling, known, 2 * TRIED_CALLS, seed + 1, wanted),
                 all_novel(telling, 2 * NOVEL_CALLS, seed + 1, novelty))  # fmt: skip
    made = {name: tried.names[name] for name in tried.telling() if name not in of_tests}
    shown_wrong = [name for name in tried.telling() if name in of_tests]
    ran = tried.lines({*made, *shown_wrong})
    lines = {name: ran[name] for name in made if name not in steps}
    groups = {name: f"{lines[name]} {shape_of(made[name])}" if name in lines else by_call[made[name]].test
              for name in by_novelty(made, seen)}  # fmt: skip
    novel = {name for name, call in made.items()
             if (by_call[call].novel if name in steps else is_novel(call, tests, novelty.names))}  # fmt: skip
    odd = of_another_type({name: call for name, call in made.items() if name not in steps}, seen)
    gone = refused(odd, tried.first)
    groups = without_accidents({name: groups[name] for name in groups if name not in gone}, tried.first, of_tests)
    kinds = strata({name: made[name] for name in groups if name in lines and name not in odd}, lines, seen,
                   {ran[name] for name in shown_wrong})  # fmt: skip
    kept = _kept(bench, tried, groups, novel, kinds, hash_seed)
    kept = replace(kept, odd=odd & kept.right.keys())
    if len(kept.calls.sources) < ENOUGH:
        return DrawnCalls(kept, lambda: kept)
    run = reached(changed_statements(bench.task), [ran[name] for name in kept.calls.sources])
    return DrawnCalls(kept, lambda: _guarded(tried, replace(kept, reached=run), of_tests, beside, tests, seed))


def _guarded(
    tried: TriedCalls, kept: Behaviour, of_tests: Sequence[str], beside: Sequence[str], tests: str, seed: int
) -> Behaviour:
    """Add guards and further calls. `of_tests`: names of the calls that tests make; `beside`: calls of theirs that do
    not reach the changed functions."""
    other, beside_shown = call_beside(tried, beside, tests, seed)
    shown, calls = {*of_tests, *beside_shown}, [*beside, *(tried.names[name] for name in of_tests)]
    guards = find_guards((tried, other), shown, calls)
    judged = [*kept.calls.sources, *guards.right]
    mutants = Mutants.of(tried.bench)
    further = further_calls((tried, other), judged, shown, calls, mutants, seed)
    guards, further = lasting((guards, further), tried.bench, kept.calls, kept.hash_seed)
    every = joined(joined(kept.calls, guards.calls), further.calls)
    mutants.show_again(every, guards.unusual | further.unusual)
    unseen, run = mutants.unseen(every.sources), kept.reached
    if run[0] < run[1]:  # what runs in other calls alone is looked at too, but where a repair may raise what it likes
        sure = only(every, every.sources.keys() - guards.unusual - further.unusual)
        run = max(run, reached(changed_statements(tried.bench.task), tried.bench.lines(sure).values()))
    return replace(kept, guards=guards, further=further, reached=run, unseen=unseen, mutants=len(mutants.words))


def add_by_turns(tried: TriedCalls, *parts: Sequence[str]) -> list[list[str]]:
    """Make the calls of all parts in turn: of a program that hangs only the first are made. Returns the names of each
    part's calls."""
    batch = [(at, one) for turn in zip_longest(*parts) for at, one in enumerate(turn) if one is not None]
    names = tried.add(source for _, source in batch)
    return [[name for name, (of, _) in zip(names, batch, strict=True) if of == at] for at in range(len(parts))]


def _kept(
    bench: Bench,
    tried: TriedCalls,
    groups: Mapping[str, str],
    novel: Collection[str],
    kinds: Mapping[str, Sequence[str]],
    hash_seed: int,
) -> Behaviour:
    """The calls among these whose outcome stays the same in a user's place, without the calls between them, and after
    many repetitions; some of each kind."""
    likely = choose_both(groups, novel, tried.looks(), CONSIDERED_CALLS)
    if not likely:
        return Behaviour()
    likely |= _telling(groups, lacking(kinds, likely), tried.first, tried)
    every = replace(tried.calls, sources=tried.names)
    again = bench.call(only(every, likely), (), users_place(), OTHER_SEED)
    chosen = choose_both(groups, novel, tried.looks(again), KEPT_CALLS)
    chosen |= _telling(groups, lacking(_among(kinds, likely), chosen), again, tried)
    alone = bench.call(only(every, chosen), hash_seed=str(hash_seed), again=AGAIN_SECONDS) if chosen else {}
    lasting = chosen.keys() - worn(alone, {name: right for name, (right, _) in chosen.items()})
    chosen = choose({name: groups[name] for name in chosen if name in lasting}, tried.looks(again, alone), len(lasting))
    return replace(
        behaviour_of(chosen), hash_seed=hash_seed, calls=only(every, chosen), novel=frozenset(chosen.keys() & novel),
        kinds={kind: names for kind, names in _among(kinds, chosen).items() if len(names) >= ENOUGH_OF_A_KIND},
    )  # fmt: skip


def _among(kinds: Mapping[str, Sequence[str]], names: Collection[str]) -> dict[str, tuple[str, ...]]:
    return {kind: tuple(name for name in every if name in names) for kind, every in kinds.items()}


def _telling(
    groups: Mapping[str, str], names: Collection[str], again: Outcomes, tried: TriedCalls
) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """The calls among these that tell the programs apart."""
    return choose({name: groups[name] for name in names}, tried.looks(again), len(names))


def behaviour_of(chosen: Mapping[str, tuple[dict[str, str], dict[str, str]]]) -> Behaviour:
    right, wrong = ({name: both[side] for name, both in chosen.items()} for side in (0, 1))
    return Behaviour(right=right, wrong=wrong)
