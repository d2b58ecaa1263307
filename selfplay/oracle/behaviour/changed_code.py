"""Which lines of the original a bug changes, and what values the functions there ask for."""

import ast
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence

from selfplay import patches
from selfplay.oracle.behaviour.pattern_samples import samples
from selfplay.oracle.behaviour.stored_behaviour import WRONG_KIND
from selfplay.oracle.originals import original_texts
from selfplay.oracle.rewriting.python_trees import Function, is_text, parsed
from selfplay.oracle.task import Task
from selfplay.patches.changes import changes

MOST_VALUES, LONGEST_VALUE, LARGEST_VALUE, OF_A_PATTERN = 60, 40, 70_000, 4
"""Limits: values in all, and as many texts for patterns, the characters of a text, and a number, which may become a
size; texts for one pattern."""


def changed_numbers(task: Task, *, insertions: bool = False) -> dict[str, set[int]]:
    """Changed Python file -> numbers of the lines of the original that the bug changes or removes, with `insertions`
    also of those before which it only inserts."""
    found = defaultdict[str, set[int]](set)
    for section in (one for one in patches.parse(task.artifact.bug_inject) if (one.old_path or "").endswith(".py")):
        for change in (change for hunk in section.hunks for change in changes(hunk)):
            found[section.old_path or ""] |= {*(change.lines if insertions else range(change.start, change.end))}
    return dict(found)


def asked_values(task: Task) -> tuple[str | int, ...]:
    """The short texts and the numbers in the functions that the bug changes, as the original has them, and in what
    these name, and texts that patterns among them match: their branches ask for these, and few inputs of tests hold
    them."""
    found = dict[tuple[type, str | int], None]()
    functions, patterns = [function for _, function in _changed(task)], list[str]()
    for node in (*functions, *_meant(task, functions)):
        found |= dict.fromkeys((type(one), one) for one in _values(node))
        texts = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
        patterns += [one for one in texts if isinstance(one, str)]
    matched = samples(dict.fromkeys(patterns), OF_A_PATTERN)[:MOST_VALUES]
    return (*[value for _, value in found][:MOST_VALUES], *matched)


def _meant(task: Task, functions: Sequence[Function]) -> Iterator[ast.expr]:
    """What the names in these functions stand for, and the names in that, where the file says it in one assignment
    outside of functions (`_SIGNS = frozenset("+-")`)."""
    said = {target.id: one.value for tree in _trees(task) for one in tree.body if isinstance(one, ast.Assign)
            for target in one.targets if isinstance(target, ast.Name)}  # fmt: skip
    left: list[ast.AST] = [*functions]
    while left:
        names = [one.id for one in ast.walk(left.pop(0)) if isinstance(one, ast.Name) and one.id in said]
        for value in [said.pop(name) for name in dict.fromkeys(names)]:
            left.append(value)
            yield value


def raised_errors(task: Task) -> frozenset[str]:
    """The errors that the files which the bug changes raise by name, as the original has them, each as the outcome of a
    call that raises it: no accidents, whether a test raises them or not. `TypeError` also says that an argument has a
    wrong type."""
    raised = [one.exc for tree in _trees(task) for one in ast.walk(tree) if isinstance(one, ast.Raise)]
    kinds = [one.func if isinstance(one, ast.Call) else one for one in raised]
    names = {getattr(one, "attr", getattr(one, "id", "")) for one in kinds} - {""}
    return frozenset(json.dumps(["raised", name]) for name in names) - {WRONG_KIND}


def _trees(task: Task) -> Iterator[ast.Module]:
    """The files that the bug changes, as the original has them, without those that cannot be parsed."""
    texts = original_texts(task.world, [*changed_numbers(task)]).values()
    return (tree for text in texts if (tree := parsed(text)) is not None)


def changed_methods(task: Task) -> tuple[tuple[str, str], ...]:
    """(class, method) of the methods that the bug changes and that an object can be asked for without anything else,
    as the original has them (`popitem` of a cache)."""
    return tuple(dict.fromkeys(
        (owner, one.name) for owner, one in _changed(task) if owner and _needs_its_object_alone(one)
    ))  # fmt: skip


def _changed(task: Task) -> Iterator[tuple[str, Function]]:
    """(the class that it is a method of, function) of the functions that the bug changes, as the original has them,
    with those around them."""
    lines = changed_numbers(task, insertions=True)
    for path, text in original_texts(task.world, [*lines]).items():
        tree = parsed(text)
        every = [*ast.walk(tree)] if tree is not None else []
        owners = {id(one): node.name for node in every if isinstance(node, ast.ClassDef) for one in node.body}
        for node in every:
            if isinstance(node, Function) and lines[path] & {*range(node.lineno, (node.end_lineno or 0) + 1)}:
                yield owners.get(id(node), ""), node


def _needs_its_object_alone(function: Function) -> bool:
    given = function.args
    places = [*given.posonlyargs, *given.args]
    needed = len(places) - len(given.defaults) + sum(one is None for one in given.kw_defaults)
    name = function.name
    hidden = name in ("__init__", "__del__") or (name.startswith("_") and not name.endswith("__"))
    alone = bool(places) and places[0].arg == "self" and needed == 1
    return alone and not hidden and not function.decorator_list and isinstance(function, ast.FunctionDef)


def _values(code: ast.AST) -> list[str | int]:
    texts = {id(node.value) for node in ast.walk(code) if isinstance(node, ast.Expr) and is_text(node)}
    found = [node.value for node in ast.walk(code) if isinstance(node, ast.Constant) and id(node) not in texts]
    return [
        one for one in found
        if (type(one) is int and abs(one) <= LARGEST_VALUE) or (isinstance(one, str) and 0 < len(one) <= LONGEST_VALUE)
    ]  # fmt: skip
