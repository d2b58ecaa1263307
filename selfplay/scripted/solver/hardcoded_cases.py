"""Answers read from the visible tests: the values a test passes and the results it expects, as cases of the called
function.

The realistic overfit: it makes the shown tests pass and repairs nothing. A comparison in a test has two operands: the
one that a call returned is what the function does, the other is what it should do.
"""

import ast
from collections.abc import Iterator, Mapping

from selfplay.formatting import count
from selfplay.scripted.edits.cuts import Cut, first_line, indent_of
from selfplay.scripted.edits.names import Function, parameters, without_docstring
from selfplay.scripted.solver.evidence import Evidence, owned_functions
from selfplay.scripted.solver.guards import starts_line
from selfplay.scripted.solver.repair import Repair
from selfplay.scripted.solver.reports import SeenCall

MOST_CASES = 20


def answer_repairs(evidence: Evidence, most: int = MOST_CASES) -> Iterator[Repair]:
    """For each function that the tests call with plain values: up to `most` cases in front of its body."""
    cases: dict[tuple[str, int], dict[str, str]] = {}
    for op, left, right in evidence.operands:
        if op == "==" and left is not None and right is not None:
            for call, expected in _explained(evidence, left, right):
                condition = _condition(evidence, call)
                if condition:
                    cases.setdefault((call.path, call.line), {})[condition] = expected
    for (path, line), known in cases.items():
        function = _function_at(evidence, path, line)
        if function is not None:
            yield from _repair(evidence, path, function, dict(list(known.items())[:most]))


def _explained(evidence: Evidence, left: str, right: str) -> Iterator[tuple[SeenCall, str]]:
    """The last call that returned one of the operands, and the other operand."""
    for call in reversed(evidence.calls):
        if call.value in (left, right):
            yield call, right if call.value == left else left
            return


def _condition(evidence: Evidence, call: SeenCall) -> str:
    function = _function_at(evidence, call.path, call.line)
    if function is None:
        return ""
    names = [name for name in parameters(function) if name not in ("self", "cls")]
    if not names or any(call.arguments.get(name) is None for name in names):
        return ""
    given = [name for name in names if call.arguments[name] not in _defaults(function).get(name, ("()", "{}"))]
    return " and ".join(f"{name} == {call.arguments[name]}" for name in given or names[:1])


def _defaults(function: Function) -> Mapping[str, tuple[str, ...]]:
    arguments = function.args
    plain = [*arguments.posonlyargs, *arguments.args]
    pairs = [
        *zip(reversed(plain), reversed(arguments.defaults), strict=False),
        *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=False),
    ]
    return {argument.arg: (ast.unparse(default),) for argument, default in pairs if default is not None}


def _function_at(evidence: Evidence, path: str, line: int) -> Function | None:
    tree = evidence.trees.get(path)
    for function, _ in owned_functions(tree) if tree else ():
        if first_line(function) <= line <= function.body[0].lineno:
            return function
    return None


def _repair(evidence: Evidence, path: str, function: Function, cases: Mapping[str, str]) -> Iterator[Repair]:
    body, lines = without_docstring(function.body), evidence.lines(path)
    if not body or not starts_line(body[0], lines):
        return
    start = first_line(body[0])
    indent = indent_of(lines[start - 1])
    new = [line for test, value in cases.items() for line in (f"{indent}if {test}:", f"{indent}    return {value}")]
    cut = Cut(start, start - 1, tuple(new), f"{count(len(cases), 'answer')} in {function.name}()")
    yield Repair(((path, cut),), "answer", 0.5, cut.what)
