"""Bodies and methods copied from siblings: functions of the same or a similar name, classes of the same kind."""

import ast
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from selfplay.patches import is_test_file
from selfplay.patches.line_diff import in_common
from selfplay.scripted.edits.cuts import Cut, first_line, indent_of
from selfplay.scripted.edits.names import Function, parameters, without_docstring
from selfplay.scripted.solver.evidence import CodePlace, Evidence, is_stub
from selfplay.scripted.solver.guards import starts_line
from selfplay.scripted.solver.hints import attributes_of, unread
from selfplay.scripted.solver.repair import Repair

Sibling = tuple[str, str, Function, float]
"""Path, class, function and its similarity."""


def transplant_repairs(evidence: Evidence, place: CodePlace) -> Iterator[Repair]:
    """Replace the place's body by that of each similar function, and by bodies that are usual for stubs."""
    own = without_docstring(place.function.body)
    stub = is_stub(place.function)
    worth = (1.6 if stub else 0.25 if len(own) <= 6 else 0.1) * place.suspicion
    for path, owner, function, likeness in siblings(evidence, place)[: 20 if stub else 6]:
        lines = _body(evidence, path, function)
        renamed = tuple(_renamed(line, function, owner, place) for line in lines)
        yield from replaced(
            evidence, place, renamed, "transplant", worth * likeness, f"body of {owner}.{function.name}"
        )
    if stub or unread(place.function):
        for n, line in enumerate(usual_bodies(evidence, place)):
            weight = (0.9 if stub else 0.3) * place.suspicion / (1 + 0.04 * n)
            yield from replaced(evidence, place, (line,), "stub", weight, line, add=not stub)


def siblings(evidence: Evidence, place: CodePlace) -> list[Sibling]:
    """Functions whose body could fit the place: of the same name, or of a similar one with similar parameters."""
    found = []
    for path, owner, function in evidence.functions:
        if function is place.function or is_stub(function) or len(function.body) > 25:
            continue
        score = _likeness(function, place, path == place.path)
        if score >= 0.5:
            found.append((path, owner, function, score))
    return sorted(found, key=lambda sibling: -sibling[3])


def _likeness(function: Function, place: CodePlace, near: bool) -> float:
    if function.name == place.function.name:
        return 1.0 + 0.2 * near
    name = alike(function.name, place.function.name)
    same = parameters(function) == parameters(place.function)
    return name * (0.8 if same else 0.5) + 0.1 * near + 0.15 * (same and len(parameters(function)) > 1)


@lru_cache(maxsize=100_000)
def alike(one: str, other: str) -> float:
    """How similar two names are, 0 to 1: by their beginnings, their ends, and their words."""
    ends = max(in_common(one, other), in_common(one[::-1], other[::-1]))
    words, others = (set(re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)) for name in (one, other))
    return max(2 * ends / (len(one) + len(other)), len(words & others) / max(1, len(words | others)))


def _body(evidence: Evidence, path: str, function: Function) -> list[str]:
    body, lines = without_docstring(function.body), evidence.lines(path)
    start, end = first_line(body[0]), body[-1].end_lineno or body[-1].lineno
    if not starts_line(body[0], lines):
        return [ast.unparse(body[0])]
    indent = indent_of(lines[start - 1])
    return [line.rstrip("\r\n").removeprefix(indent) for line in lines[start - 1 : end]]


def _renamed(line: str, function: Function, owner: str, place: CodePlace) -> str:
    """The ingredient's parameters, name and class replaced by the place's."""
    for old, new in zip(parameters(function), parameters(place.function), strict=False):
        if old != new:
            line = re.sub(rf"(?<![\w.]){re.escape(old)}\b", new, line)
    if function.name != place.function.name:
        line = re.sub(rf"(?<!\w){re.escape(function.name)}(?=\b|_)", place.function.name, line)
    return re.sub(rf"\b{re.escape(owner)}\b", place.owner, line) if owner and place.owner else line


def usual_bodies(evidence: Evidence, place: CodePlace) -> list[str]:
    """One-line bodies such functions tend to have: getters, setters, delegation."""
    names = [name for name in parameters(place.function) if name not in ("self", "cls")]
    attributes = [f"self.{name}" for name in attributes_of(evidence, place) if name != place.function.name]
    word = re.sub(r"^(get|set|is|has|iter)_?", "", place.function.name)
    attributes.sort(key=lambda name: word.strip("_") not in name)
    attributes = attributes[:10]
    found = [f"self.{name} = {name}" for name in names]
    for held in attributes:
        found += [f"return {held}", f"return len({held})", f"return iter({held})", f"return list({held})"]
        found += [f"return list({held}())", f"return {held}()", f"return bool({held})"]
        for name in names[:2]:
            found += [f"return {name} in {held}", f"return {held}[{name}]", f"return {held} == {name}"]
            found += [f"{held}({name})", f"return {held}({name})", f"{held} = {name}"]
            if place.function.name == "__eq__":
                found.insert(0, f"return type(self) == type({name}) and {held} == {name}{held[4:]}")
    for name in names[:2]:
        found += [f"return {name}", f"return {name} is not None", f"return str({name})", f"return list({name})"]
    if len(names) > 1:
        found.append(f"return {', '.join(names[-2:])}")
    return list(dict.fromkeys(found))


def replaced(
    evidence: Evidence, place: CodePlace, body: Sequence[str], kind: str, weight: float, what: str, add: bool = False
) -> Iterator[Repair]:
    """The function with another body; with `add` the line is appended to the existing body."""
    own, lines = without_docstring(place.function.body), evidence.lines(place.path)
    every = place.function.body
    if not starts_line(every[0], lines):
        return
    indent = indent_of(lines[first_line(every[0]) - 1])
    end = every[-1].end_lineno or every[-1].lineno
    start = first_line(own[0]) if own and not add else end + 1
    new = tuple(indent + line if line.strip() else "" for line in body)
    yield Repair(((place.path, Cut(start, end, new, what)),), kind, weight, what)


def method_repairs(evidence: Evidence) -> Iterator[Repair]:
    """Methods that siblings of a suspicious class have and the class lacks; first those an error names as missing."""
    missing = {
        found[1]
        for test in evidence.failing
        if (found := re.search(r"\w'? (?:object )?has no attribute '(\w+)'", test.message))
    }
    owners = {(place.path, place.owner): place.suspicion for place in reversed(evidence.places) if place.owner}
    classes = [
        (path, node)
        for path, tree in evidence.trees.items()
        if not is_test_file(path)
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    ]
    for path, node in classes:
        suspicion = owners.get((path, node.name), 0.0)
        if not suspicion:
            continue
        has = {statement.name for statement in node.body if isinstance(statement, ast.FunctionDef)}
        for ingredient_path, ingredient in classes:
            likeness = _class_likeness(node, ingredient)
            for method in ingredient.body:
                if isinstance(method, ast.FunctionDef) and method.name not in has and ingredient is not node:
                    worth = 2.5 if method.name in missing else 0.35 * likeness
                    if worth > 0.15:
                        yield _added(evidence, path, node, ingredient_path, ingredient, method, worth * suspicion)


def _class_likeness(one: ast.ClassDef, other: ast.ClassDef) -> float:
    bases, others = ({ast.unparse(base) for base in node.bases} for node in (one, other))
    name = alike(one.name, other.name)
    return 0.6 * bool(bases & others) + 0.6 * name


def _added(
    evidence: Evidence,
    path: str,
    node: ast.ClassDef,
    ingredient_path: str,
    ingredient: ast.ClassDef,
    method: Function,
    weight: float,
) -> Repair:
    lines, source = evidence.lines(path), evidence.lines(ingredient_path)
    start, end = first_line(method), method.end_lineno or method.lineno
    old, new = indent_of(source[start - 1]), indent_of(lines[first_line(node.body[0]) - 1])
    taken = [line.rstrip("\r\n") for line in source[start - 1 : end]]
    moved = [
        new + re.sub(rf"\b{ingredient.name}\b", node.name, line.removeprefix(old)) if line.strip() else ""
        for line in taken
    ]
    after = node.end_lineno or node.lineno
    what = f"{method.name}() as in {ingredient.name}"
    return Repair(((path, Cut(after + 1, after, ("", *moved), what)),), "method", weight, what)
