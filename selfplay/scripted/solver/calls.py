"""Repairs of call arguments and of names: arguments passed on, parameters added, names replaced by existing ones."""

import ast
import builtins
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence

from selfplay.patches import is_test_file
from selfplay.scripted.edits.cuts import Cut, first_line
from selfplay.scripted.edits.names import Function, parameters
from selfplay.scripted.solver.evidence import CodePlace, Evidence
from selfplay.scripted.solver.hints import attributes_of, module_names, unread
from selfplay.scripted.solver.repair import Repair

RENAMED = {
    "unicode": "str", "basestring": "str", "text_type": "str", "string_types": "str", "xrange": "range", "long": "int",
    "iteritems": "items", "itervalues": "values", "iterkeys": "keys", "unichr": "chr", "raw_input": "input",
    "izip": "zip", "imap": "map", "has_key": "__contains__", "next": "__next__", "integer_types": "int",
}  # fmt: skip
"""Python 3's names for what old code may still use."""


def signatures(evidence: Evidence) -> dict[str, list[str]]:
    """Name of a function or class -> its parameters, over the whole repository (the last one of a name counts)."""
    found: dict[str, list[str]] = {}
    for _, owner, function in evidence.functions:
        names = [name for name in parameters(function) if name not in ("self", "cls")]
        found[owner if owner and function.name == "__init__" else function.name] = names
    return found


def call_repairs(evidence: Evidence, place: CodePlace, known: Mapping[str, list[str]]) -> Iterator[Repair]:
    """Arguments that calls in this function omit and could pass on, or that could be another name of the function."""
    lines, missed = evidence.lines(place.path), unread(place.function)
    names = set(parameters(place.function)) | {
        node.id for node in ast.walk(place.function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    for call in [node for node in ast.walk(place.function) if isinstance(node, ast.Call)]:
        end = call.end_lineno or call.lineno
        weight = evidence.suspicion(place.path, call.lineno, end)
        callee = ast.unparse(call.func).rsplit(".", 1)[-1]
        if not weight:
            continue
        passed = {keyword.arg for keyword in call.keywords}
        for name in known.get(callee, ())[len(call.args) :] if None not in passed else ():
            if name not in passed:
                for value, worth in _values(name, call, names, missed):
                    yield from _argument(place, call, f"{name}={value}", weight * worth, lines)
        yield from _swapped(place, call, weight, lines)


def _values(name: str, call: ast.Call, names: set[str], missed: frozenset[str]) -> Iterator[tuple[str, float]]:
    """Values for a parameter: the name itself, or an expression like its neighbours' (`k=options['k']`)."""
    if name in names:
        yield name, 1.5 if name in missed else 0.6
    for keyword in call.keywords:
        text = ast.unparse(keyword.value)
        if keyword.arg and re.search(rf"\b{keyword.arg}\b", text):
            yield re.sub(rf"\b{keyword.arg}\b", name, text), 0.9
            break
    yield f"self.{name}", 0.15
    yield "True", 0.2


def _argument(place: CodePlace, call: ast.Call, text: str, weight: float, lines: Sequence[str]) -> Iterator[Repair]:
    """One more argument at a call's end."""
    end, column = call.end_lineno or 0, (call.end_col_offset or 1) - 1
    data = lines[end - 1].rstrip("\n").encode("utf-8", "surrogateescape")
    head = data[:column].decode("utf-8", "surrogateescape").rstrip()
    if data[column : column + 1] != b")":
        return
    comma = "" if head.endswith(("(", ",")) else ", "
    tail = data[column:].decode("utf-8", "surrogateescape")
    cut = Cut(end, end, (f"{head}{comma}{' ' * head.endswith(',')}{text}{tail}",), f"passed {text}")
    yield Repair(((place.path, cut),), "argument", weight, cut.what)


def _swapped(place: CodePlace, call: ast.Call, weight: float, lines: Sequence[str]) -> Iterator[Repair]:
    """Two neighbouring arguments exchanged."""
    if len(call.args) < 2 or call.lineno != call.end_lineno:
        return
    one, other = call.args[0], call.args[1]
    data = lines[call.lineno - 1].rstrip("\n").encode("utf-8", "surrogateescape")
    a, b = (data[n.col_offset : n.end_col_offset] for n in (one, other))
    between = data[one.end_col_offset : other.col_offset]
    line = data[: one.col_offset] + b + between + a + data[other.end_col_offset :]
    cut = Cut(call.lineno, call.lineno, (line.decode("utf-8", "surrogateescape"),), "exchanged two arguments")
    yield Repair(((place.path, cut),), "argument", weight * 0.1, cut.what)


def name_repairs(evidence: Evidence) -> Iterator[Repair]:
    """Names and attributes that an error reports as missing, replaced by existing ones; missing imports added."""
    for test in evidence.failing[:6]:
        frames = [frame for frame in test.frames if not is_test_file(frame[0]) and frame[0] in evidence.trees]
        unknown = re.search(r"name '(\w+)' is not defined|has no attribute '(\w+)'|variable '(\w+)'", test.message)
        if not frames or not unknown:
            continue
        word = next(group for group in unknown.groups() if group)
        path, line, _ = frames[-1]
        text = evidence.lines(path)[line - 1].rstrip("\n")
        for n, new in enumerate(_candidates(evidence, path, line, word)):
            cut = Cut(line, line, (re.sub(rf"\b{word}\b", new, text),), f"{new} for {word}")
            yield Repair(((path, cut),), "unknown", 2.0 / (1 + 0.2 * n), cut.what)
        if "is not defined" in test.message:
            yield from _imports(evidence, path, word)


def _candidates(evidence: Evidence, path: str, line: int, word: str) -> list[str]:
    function = next((place for place in evidence.places if place.path == path and _holds(place.function, line)), None)
    names = [*module_names(evidence, path), *dir(builtins)]
    if function is not None:
        names += [*parameters(function.function), *attributes_of(evidence, function)]
        names += [node.id for node in ast.walk(function.function) if isinstance(node, ast.Name)]
    first = [RENAMED[word]] if word in RENAMED else []
    return [*first, *difflib.get_close_matches(word, sorted({*names} - {word}), 5, 0.5)]


def _holds(function: Function, line: int) -> bool:
    return function.lineno <= line <= (function.end_lineno or 0)


def _imports(evidence: Evidence, path: str, word: str) -> Iterator[Repair]:
    """The import by which another file, or the standard library, gets the name."""
    found = [f"import {word}"]
    for other, tree in evidence.trees.items():
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and any((a.asname or a.name) == word for a in node.names):
                level = "." * node.level
                found.insert(0, f"from {level}{node.module or ''} import {word}")
            elif word in (getattr(node, "name", ""), *_assigned(node)) and other != path:
                found.insert(
                    0, f"from {other.removesuffix('.py').removeprefix('src/').replace('/', '.')} import {word}"
                )
    body = evidence.trees[path].body
    at = next((first_line(s) for s in body if isinstance(s, ast.Import | ast.ImportFrom)), 1)
    for n, line in enumerate(dict.fromkeys(found)):
        yield Repair(((path, Cut(at, at - 1, (line,), line)),), "import", 2.2 / (1 + 0.3 * n), line)


def _assigned(node: ast.stmt) -> list[str]:
    return [t.id for t in node.targets if isinstance(t, ast.Name)] if isinstance(node, ast.Assign) else []


def parameter_repairs(evidence: Evidence) -> Iterator[Repair]:
    """A parameter that the tests pass and a function does not have."""
    for test in evidence.failing[:6]:
        found = re.search(r"\b(\w+)\(\) got an unexpected keyword argument '(\w+)'", test.message)
        if not found:
            continue
        callee, name = found.groups()
        for path, _, function in evidence.functions:
            if function.name == callee.rsplit(".", 1)[-1]:
                yield from _parameter(evidence, path, function, name)


def _parameter(evidence: Evidence, path: str, function: Function, name: str) -> Iterator[Repair]:
    lines = evidence.lines(path)
    body = first_line(function.body[0])
    for number in range(function.lineno, body):
        text = lines[number - 1].rstrip("\n")
        at = text.rfind("):") if "):" in text else text.rfind(") ->")
        if at >= 0:
            for default in ("None", "False", "True"):
                cut = Cut(number, number, (f"{text[:at]}, {name}={default}{text[at:]}",), f"parameter {name}")
                yield Repair(((path, cut),), "parameter", 1.5, cut.what)
            return
