"""The naive solver, shallow on purpose: one look at the traceback and one plausible edit, submitted without a test run.

It does what a person in a hurry does: add a guard before the line that crashes, swallow the exception, invert a
condition, return early, special-case the expected value. It hardly ever solves a bug, and its patches look like honest
failures.
"""

import ast
import itertools
import random
from collections.abc import Callable, Iterator, Sequence

from selfplay.roles.solver.task import SolverTask
from selfplay.scripted.edits.cuts import Cut, first_line, indent_of
from selfplay.scripted.edits.names import without_docstring
from selfplay.scripted.policy import Script, ScriptedPolicy, Stuck
from selfplay.scripted.solver import steps
from selfplay.scripted.solver.evidence import CodePlace, Evidence, evidence_from
from selfplay.scripted.solver.expressions import expression_repairs
from selfplay.scripted.solver.guards import early_exits, guard_repairs, starts_line
from selfplay.scripted.solver.hardcoded_cases import answer_repairs
from selfplay.scripted.solver.repair import Repair, changes

Habit = Callable[[Evidence, CodePlace], Iterator[Repair]]
PLACES = 4
"""How many functions near the traceback's end are considered."""


def naive_solver(task: SolverTask) -> ScriptedPolicy:
    """The policy for one shallow attempt."""
    return ScriptedPolicy("scripted-naive", _script(task))


def _script(task: SolverTask) -> Script[None]:
    try:
        shown = yield from steps.prepare(task.specification)
        report = yield from steps.look(shown, trace_seconds=1.0)
        paths = yield from steps.python_files()
        texts = yield from steps.read_sources(paths)
        evidence = evidence_from(report, texts, task.specification)
        chosen = choose(evidence, task.number, random.Random(f"naive:{task.seed}:{task.bug}:{task.number}"))
        if chosen is None:
            raise Stuck("there is nothing to edit")
        yield from steps.hand_in(changes(chosen, texts) or ())
    except Stuck:
        yield from steps.start_over()
        raise


def choose(evidence: Evidence, number: int, rng: random.Random) -> Repair | None:
    """One edit by the method of this attempt's number, or by the next method that finds one."""
    for turn in range(len(HABITS)):
        habit = HABITS[(number + turn) % len(HABITS)]
        found = [repair for place in near_the_end(evidence) for repair in habit(evidence, place)]
        heaviest = sorted(found, key=lambda repair: -repair.weight)
        usable = list(itertools.islice((repair for repair in heaviest if changes(repair, evidence.texts)), 5))
        if usable:
            return rng.choice(usable)
    return None


def near_the_end(evidence: Evidence) -> Sequence[CodePlace]:
    """The functions in which the traceback ends; if it ends in the tests, those that only failing tests run."""
    frames = [frame for test in evidence.failing[:3] for frame in test.frames[-2:]]
    crashed = [
        place
        for place in evidence.places
        if any(f[0] == place.path and place.function.lineno <= f[1] <= (place.function.end_lineno or 0) for f in frames)
    ]
    return (crashed or evidence.places)[:PLACES]


def _guard(evidence: Evidence, place: CodePlace) -> Iterator[Repair]:
    return (repair for repair in guard_repairs(evidence, place) if repair.kind == "guard")


def _flip(evidence: Evidence, place: CodePlace) -> Iterator[Repair]:
    kinds = {"comparison", "condition", "negation", "constant"}
    return (repair for repair in expression_repairs(evidence, place) if repair.kind in kinds)


def _swallow(evidence: Evidence, place: CodePlace) -> Iterator[Repair]:
    """Put the failing statement, or any other the failing tests run, into a `try` that hides the exception."""
    lines = evidence.lines(place.path)
    for statement in without_docstring(place.function.body):
        start, end = first_line(statement), statement.end_lineno or statement.lineno
        if not evidence.suspicion(place.path, start, end) or not starts_line(statement, lines):
            continue
        indent = indent_of(lines[start - 1])
        body = [
            f"    {line}".rstrip() if line.strip() else "" for line in (x.rstrip("\n") for x in lines[start - 1 : end])
        ]
        out = early_exits(place)[0] if isinstance(statement, ast.Return) else "pass"
        new = (f"{indent}try:", *body, f"{indent}except Exception:", f"{indent}    {out}")
        yield Repair(((place.path, Cut(start, end, new, "swallowed")),), "swallow", place.suspicion, "swallowed")


def _early_return(evidence: Evidence, place: CodePlace) -> Iterator[Repair]:
    body = without_docstring(place.function.body)
    if not body or not starts_line(body[0], evidence.lines(place.path)):
        return
    start = first_line(body[0])
    indent = indent_of(evidence.lines(place.path)[start - 1])
    names = [argument.arg for argument in place.function.args.args if argument.arg not in ("self", "cls")]
    for name in names[:2]:
        for out in early_exits(place)[:2]:
            cut = Cut(start, start - 1, (f"{indent}if not {name}:", f"{indent}    {out}"), "an early return")
            yield Repair(((place.path, cut),), "early", place.suspicion, cut.what)


def _special_case(evidence: Evidence, place: CodePlace) -> Iterator[Repair]:
    """One expected value, taken from the test."""
    yield from answer_repairs(evidence, most=1)


HABITS: tuple[Habit, ...] = (_guard, _flip, _swallow, _special_case, _early_return)
