"""Helpers: functions and values of test files that calls pass to the program, as source.

Each is cut out of its file with everything it needs: no test, no import of a test runner. Its functions and classes get
other names, since the program sees them.
"""

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence

from selfplay.oracle.rewriting.python_trees import parsed, unparsed
from selfplay.oracle.rewriting.secret_names import secret_name
from selfplay.python_source import short_expression, short_tree, syntax_tree

_RUNNERS = ("pytest", "_pytest", "unittest", "doctest", "nose", "hypothesis", "conftest")


def helper(text: str, names: Collection[str]) -> str:
    """The part of a test file that defines these names; empty if it needs a test runner or another test file."""
    tree = parsed(text)
    if tree is None:
        return ""
    tops = {name: node for node in tree.body for name in bound(node)}
    wanted, left = set[ast.stmt](), [*names]
    for name in left:
        node = tops.get(name)
        if node is not None and node not in wanted:
            wanted.add(node)
            left += names_in(node)
    kept = [node for node in tree.body if node in wanted]
    if not kept or any(of_a_runner(node) for node in kept):
        return ""
    try:
        return unparsed(ast.Module(kept, []))
    except RecursionError:
        return ""


def renamed(text: str) -> tuple[str, dict[str, str]]:
    """Rename a helper's functions and classes; also returns old name -> new name of everything that it defines."""
    tree = syntax_tree(text)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    old = [node.name for node in tree.body if isinstance(node, kinds)]
    fresh = {name: secret_name((), text) for name in old}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = fresh.get(node.id, node.id)
        elif isinstance(node, kinds) and node in tree.body:
            node.name = fresh[node.name]
    return ast.unparse(tree), {name: name for node in short_tree(text).body for name in bound(node)} | fresh


def in_other_names(call: str, modules: Mapping[str, Mapping[str, str]]) -> str | None:
    """Rewrite a call with the new names of helpers. `modules`: name of a helper's module in calls -> old name -> new
    name. None if the call uses a name that the helper lacks."""
    tree = short_expression(call)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
            fresh = modules[node.value.id]
            if node.attr not in fresh:
                return None
            node.attr = fresh[node.attr]
    return ast.unparse(tree)


def asked_of(calls: Collection[str], module: str) -> set[str]:
    """The names that these calls use from this module."""
    trees = (short_expression(call) for call in calls if module in call)
    nodes = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return {node.attr for node in nodes if isinstance(node.value, ast.Name) and node.value.id == module}


def bound(node: ast.stmt) -> Iterator[str]:
    """The names that a top-level statement defines."""
    for one in (*getattr(node, "body", ()), *getattr(node, "orelse", ())) if isinstance(node, ast.Try | ast.If) else ():
        yield from bound(one)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((one.asname or one.name).partition(".")[0] for one in node.names)
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from (one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name))


def names_in(node: ast.AST) -> list[str]:
    """The variables that a node uses."""
    return [one.id for one in ast.walk(node) if isinstance(one, ast.Name)]


def of_a_runner(node: ast.stmt) -> bool:
    """Whether it imports a test runner or another test file."""
    if isinstance(node, ast.ImportFrom):
        return node.level > 0 or (node.module or "").partition(".")[0] in _RUNNERS
    return isinstance(node, ast.Import) and any(one.name.partition(".")[0] in _RUNNERS for one in node.names)


def helped(lists: Sequence[Sequence[str]], texts: Mapping[str, str]) -> tuple[tuple[list[str], ...], dict[str, str]]:
    """For each list, the calls that can be made without the tests; and the helpers that they need. `texts`: name of a
    test module in the calls -> text of its file."""
    every = [call for calls in lists for call in calls]
    cut = {name: renamed(helper(text, asked_of(every, name))) for name, text in texts.items()}
    fresh = {name: names for name, (_, names) in cut.items()}
    made = ([in_other_names(call, fresh) for call in calls] for calls in lists)
    kept = tuple([call for call in calls if call is not None] for calls in made)
    return kept, {name: text for name, (text, _) in cut.items() if text}
