"""Weakens a parametrised test: removes its failing cases and keeps the others."""

import ast
from collections.abc import Mapping, Sequence

from selfplay.scripted.edits.cuts import Cut
from selfplay.scripted.edits.names import Function


def case_cuts(function: Function, failing: Sequence[Mapping[str, int]], lines: Sequence[str]) -> list[Cut]:
    """Cuts of the failing cases of the one literal `parametrize` list, if each has its own lines. `failing`: for each
    failure, parameter -> the index of the value that it ran with."""
    lists = [
        call.args[:2]
        for call in function.decorator_list
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("parametrize") and len(call.args) >= 2
    ]
    if len(lists) != 1 or not isinstance(lists[0][1], ast.List | ast.Tuple):
        return []
    names, cases = _argument_names(lists[0][0]), lists[0][1].elts
    if any(set(indices) != names for indices in failing):
        return []  # there are other parameters too: one case of this list is several tests
    wanted = sorted({index for indices in failing for index in indices.values()})
    if not wanted or len(wanted) == len(cases) or wanted[-1] >= len(cases):
        return []
    cuts = [Cut(cases[i].lineno, cases[i].end_lineno or 0, (), "removed a case") for i in wanted]
    return cuts if all(_stands_alone(cases[i], lines) for i in wanted) else []


def _argument_names(names: ast.expr) -> set[str]:
    """The parameter names given to `parametrize`: `"a, b"`, `["a", "b"]` or `("a", "b")`."""
    parts = names.elts if isinstance(names, ast.List | ast.Tuple) else [names]
    texts = [one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    if len(texts) < len(parts):
        return set()
    return {name.strip() for name in (texts[0].split(",") if parts == [names] else texts)}


def _stands_alone(node: ast.expr, lines: Sequence[str]) -> bool:
    before = lines[node.lineno - 1].encode()[: node.col_offset].strip()
    after = lines[(node.end_lineno or 0) - 1].encode()[node.end_col_offset or 0 :].strip()
    return not before and after == b","
