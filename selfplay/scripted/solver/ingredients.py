"""Inserts code of the repository where code seems to be missing: statements that stand between similar neighbours.

A repair often exists in the same project already. A run of statements is an ingredient. It fits a gap when its names
have a meaning there (one or two others are renamed). It fits better the more its neighbours resemble the gap's, the
nearer its original place is, and the more it uses names that the function has and does not read.
"""

import ast
import builtins
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from selfplay.formatting import count
from selfplay.scripted.edits.cuts import Cut, first_line, indent_of
from selfplay.scripted.edits.names import bound_by, parameters, without_docstring
from selfplay.scripted.solver.evidence import CodePlace, Evidence
from selfplay.scripted.solver.gaps import Gap, exits, gaps_of, shape
from selfplay.scripted.solver.guards import blocks, starts_line
from selfplay.scripted.solver.hints import idle, module_names, unread
from selfplay.scripted.solver.repair import Repair

MOST_LINES = 14
MOST_RUN = 4
PER_PLACE = 60
_WORD = re.compile(r"\w+")
BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True)
class Ingredient:
    """A run of statements. `lines` without their indent; `before`, `after`: shapes of its neighbours."""

    path: str
    name: str
    owner: str
    lines: tuple[str, ...]
    reads: frozenset[str]
    binds: frozenset[str]
    words: frozenset[str]
    before: str
    after: str
    is_exit: bool
    in_loop: bool


@dataclass
class Ingredients:
    """All ingredients in the files that failing tests run, made once per look."""

    evidence: Evidence
    scopes: dict[str, set[str]] = field(default_factory=dict)

    @cached_property
    def every(self) -> list[Ingredient]:
        found: list[Ingredient] = []
        for path, owner, function in self.evidence.functions:
            if path not in self.evidence.failing_runs:
                continue
            for block, loop in blocks(function):
                found += _runs(self.evidence.lines(path), path, function.name, owner, block, loop)
        return found

    def scope(self, path: str) -> set[str]:
        if path not in self.scopes:
            self.scopes[path] = module_names(self.evidence, path)
        return self.scopes[path]


def _runs(
    lines: Sequence[str], path: str, name: str, owner: str, block: Sequence[ast.stmt], loop: bool
) -> Iterator[Ingredient]:
    statements = without_docstring(list(block))
    shapes = ["", *(shape(statement) for statement in statements), ""]
    reads, binds, leaves = (
        zip(*(_uses(statement) for statement in statements), strict=True) if statements else ((),) * 3
    )
    for first in range(len(statements)):
        for last in range(first, min(len(statements), first + MOST_RUN)):
            run = statements[first : last + 1]
            start, end = first_line(run[0]), run[-1].end_lineno or 0
            if end - start >= MOST_LINES or not starts_line(run[0], lines):
                break
            taken = _dedented(lines[start - 1 : end])
            if taken is None:
                continue
            bound = frozenset().union(*binds[first : last + 1])
            read = frozenset().union(*reads[first : last + 1]) - bound
            words = frozenset(_WORD.findall(" ".join(taken)))
            stays = loop and any(leaves[first : last + 1])
            before, after = shapes[first], shapes[last + 2]
            yield Ingredient(path, name, owner, taken, read, bound, words, before, after, exits(run[-1]), stays)


def _uses(statement: ast.stmt) -> tuple[frozenset[str], frozenset[str], bool]:
    """Names read, names bound, and whether it contains a `break` or `continue`."""
    nodes = list(ast.walk(statement))
    reads = frozenset(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    binds = frozenset(name for node in nodes for name in bound_by(node))
    return reads, binds, any(isinstance(node, ast.Break | ast.Continue) for node in nodes)


def _dedented(lines: Sequence[str]) -> tuple[str, ...] | None:
    indent = indent_of(lines[0])
    taken = [line.rstrip("\r\n") for line in lines]
    if any(line.strip() and not line.startswith(indent) for line in taken):
        return None
    return tuple(line[len(indent) :] if line.strip() else "" for line in taken)


def insertion_repairs(ingredients: Ingredients, place: CodePlace) -> Iterator[Repair]:
    """The ingredients that fit this function best, each at its best gaps."""
    evidence = ingredients.evidence
    gaps = gaps_of(evidence, place)
    wanted = unread(place.function) | idle(evidence, place.path)
    scope = ingredients.scope(place.path) | BUILTINS | set(parameters(place.function))
    nearness = [(_nearness(ingredient, place, wanted, scope), ingredient) for ingredient in ingredients.every]
    found: list[Repair] = []
    for near, ingredient in sorted(nearness, key=lambda pair: -pair[0])[: 3 * PER_PLACE]:
        for gap in gaps:
            repair = _placed(ingredient, gap, place, scope, near)
            if repair:
                found.append(repair)
    yield from sorted(found, key=lambda repair: -repair.weight)[: 2 * PER_PLACE]


def _nearness(ingredient: Ingredient, place: CodePlace, wanted: frozenset[str], scope: set[str]) -> float:
    """How near the ingredient's original place is, and how many of the missing names it uses."""
    score = 0.2
    score += 0.5 * (ingredient.path == place.path)
    score += 0.5 * bool(ingredient.owner and ingredient.owner == place.owner)
    score += 0.9 * (ingredient.name == place.function.name)
    score += 0.4 * _similar(ingredient.name, place.function.name)
    score += 0.6 * min(2, len(wanted & ingredient.words))
    strange = len(ingredient.reads - scope)
    return score / (1 + 0.3 * strange)


@lru_cache(maxsize=10_000)
def _similar(one: str, other: str) -> float:
    """The shared words of two names, as a share of all their words."""
    a, b = set(one.strip("_").split("_")), set(other.strip("_").split("_"))
    return len(a & b) / len(a | b)


def _placed(ingredient: Ingredient, gap: Gap, place: CodePlace, scope: set[str], near: float) -> Repair | None:
    """The ingredient in the gap, with at most two names replaced; None if it makes no sense there."""
    if (ingredient.in_loop and not gap.loop) or (ingredient.is_exit and not gap.last and not gap.replaces):
        return None
    known = scope | gap.bound
    strange = sorted(ingredient.reads - known)
    if len(strange) > 2:
        return None
    names = _renaming(strange, ingredient, gap, place)
    if names is None:
        return None
    lines = tuple(_renamed(line, names) for line in ingredient.lines)
    alike = (ingredient.before == gap.before) * (1.2 if gap.before else 0.2) + (ingredient.after == gap.after) * (
        1.2 if gap.after else 0.3
    )
    weight = gap.suspicion * (near + alike) * (0.14 if not alike else 0.28) / (1 + 0.8 * len(strange))
    start = gap.line
    cut = Cut(start, start if gap.replaces else start - 1, tuple(gap.indent + line if line else "" for line in lines))
    return Repair(((place.path, cut),), "insertion", weight, f"{count(len(lines), 'line')} as in {ingredient.name}()")


def _renaming(strange: Sequence[str], ingredient: Ingredient, gap: Gap, place: CodePlace) -> dict[str, str] | None:
    """Names that are unknown in the gap -> known names that the ingredient does not use."""
    missed = unread(place.function)
    free = sorted(
        (name for name in gap.bound - ingredient.reads - ingredient.binds if name not in ("self", "cls")),
        key=lambda name: (name not in missed, name),
    )
    if len(free) < len(strange):
        return None
    return dict(zip(strange, free, strict=False))


def _renamed(line: str, names: dict[str, str]) -> str:
    for old, new in names.items():
        line = re.sub(rf"(?<![\w.]){re.escape(old)}\b(?!\s*=[^=])", new, line)
    return line
