"""Scenarios: tests with other inputs as programs without a runner, for steps that cannot be written as one call.

A scenario is cut out of its test file with everything it needs, under new names. It has no assertion (each becomes a
record) and uses no test runner. It is made like a call, wherever calls are made.
"""

import ast
import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from selfplay.oracle.behaviour.absolute_imports import There, make_absolute, package_of
from selfplay.oracle.behaviour.borrowed import bound, names_in, of_a_runner, renamed
from selfplay.oracle.behaviour.inherited_tests import imported_file
from selfplay.oracle.rewriting.plain_tests import Plain
from selfplay.oracle.rewriting.python_trees import Function, Owner, Test, find, loaded, parsed, unparsed
from selfplay.oracle.rewriting.secret_names import secret_name
from selfplay.python_source import short_expression, short_tree

_BEFORE, _AFTER = ("setUp", "setup_method"), ("tearDown",)
_ENTRY = "selfplay_scenario"


class _NoScenario(Exception):
    """The test needs something that only a test runner provides."""


@dataclass
class _File:
    """A test file without what a runner does. `tops`: name -> the statement that defines it; `probes`: its test
    functions, with their classes."""

    tree: ast.Module
    tops: dict[str, ast.stmt]
    probes: dict[str, Test]


@dataclass
class Files:
    """Test files; each is parsed once. `texts`: path -> text; for probed files, the text with probes. `there`: which
    files the original has."""

    texts: Mapping[str, str]
    there: There
    read: dict[str, _File] = field(default_factory=dict)

    def file(self, path: str) -> _File:
        if path not in self.read:
            tree, plain = parsed(self.texts[path]), parsed(self.texts[path])
            if tree is None or plain is None:
                raise _NoScenario
            make_absolute(plain, path, self.texts, package_of(path, self.there))
            plain = Plain(plain).visit(plain)
            probes = {one[0].name: one for one in find(tree)}
            self.read[path] = _File(plain, {name: node for node in plain.body for name in bound(node)}, probes)
        return self.read[path]

    def scenario(self, path: str, probe: str) -> tuple[str, str] | None:
        """(source, name of its function that runs the scenario) of a probe; None if it needs a runner."""
        try:
            file = self.file(path)
            if probe not in file.probes:
                return None
            needed = _Needed(self, probe)
            entry = _entry(*file.probes[probe], file)
            needed.add(path, names_in(entry))
            text, names = renamed(unparsed(ast.Module([*needed.statements(), entry], [])))
            return text.replace(probe, secret_name((), text)), names[_ENTRY]
        except (_NoScenario, RecursionError, SyntaxError):
            return None


@dataclass
class _Needed:
    """What one scenario needs of the test files, collected name by name."""

    files: Files
    probe: str
    wanted: dict[str, dict[ast.stmt, ast.stmt]] = field(default_factory=dict)
    """Path -> its needed statements, as they appear in the scenario."""

    def add(self, path: str, names: Iterable[str]) -> None:
        """Add these names of a file, with everything they need."""
        file, left = self.files.file(path), [*names]
        wanted = self.wanted.setdefault(path, {})
        for name in left:
            top = file.tops.get(name)
            if top is None or top in wanted:
                continue
            node = wanted[top] = self._alone(top)
            other = self._other(path, node)
            if other is not None:
                self.add(other, [one.name for one in node.names])  # type: ignore[attr-defined]
            elif any(self._forbidden(one) for one in ast.walk(node)):
                raise _NoScenario
            else:
                left += names_in(node)

    def _alone(self, node: ast.stmt) -> ast.stmt:
        """A class with the probe as its only test."""
        if not isinstance(node, ast.ClassDef):
            return node
        made = copy.copy(node)
        body = [self._alone(one) for one in node.body if not isinstance(one, Function)
                or not one.name.startswith("test") or one.name == self.probe]  # fmt: skip
        made.body = body or [ast.Pass()]
        return made

    def _forbidden(self, node: ast.AST) -> bool:
        """Whether it loads a test runner, or a whole test file."""
        if isinstance(node, ast.Import):
            paths = [one.name.replace(".", "/") for one in node.names]
            return of_a_runner(node) or any(
                {f"{one}.py", f"{one}/__init__.py"} & self.files.texts.keys() for one in paths
            )
        return isinstance(node, ast.ImportFrom) and of_a_runner(node)

    def _other(self, path: str, node: ast.stmt) -> str | None:
        """The test file from which an import takes names; None for any other statement."""
        found = imported_file(path, node, self.files.texts)
        if found is None or not isinstance(node, ast.ImportFrom):
            return None
        if any(one.asname or one.name not in self.files.file(found).tops for one in node.names):
            raise _NoScenario
        return found

    def statements(self) -> list[ast.stmt]:
        """The needed statements; imported files come before the files that import them."""
        made, given = list[ast.stmt](), set[str]()
        for path, wanted in reversed(self.wanted.items()):
            body = self.files.file(path).tree.body
            kept = [wanted[node] for node in body if node in wanted and self._other(path, node) is None]
            names = {name for node in kept if not isinstance(node, ast.Import | ast.ImportFrom) for name in bound(node)}
            if names & given:
                raise _NoScenario
            given |= names
            made += kept
        return made


def _entry(function: Function, owner: Owner | None, file: _File) -> Function:
    """The function that runs the scenario."""
    known = {one.name: (one, None) for one in file.tree.body if isinstance(one, Function)}
    given = [ast.keyword(name, value) for name, value in _given(function, owner is not None, known)]
    if owner is None:
        play: list[ast.stmt] = [ast.Return(ast.Call(loaded(function.name), [], given))]
        return _function(play)
    thing = short_expression(owner.path)
    methods = {one.name: one for one in owner.node.body if isinstance(one, Function)}
    steps: list[ast.stmt] = [ast.Assign([ast.Name("one", ast.Store())], ast.Call(thing, [], []))]
    steps += [ast.Expr(_of_one(name, methods[name])) for name in _BEFORE if name in methods]
    result = ast.Call(ast.Attribute(loaded("one"), function.name, ast.Load()), [], given)
    after = [ast.Expr(_of_one(name, methods[name])) for name in _AFTER if name in methods]
    steps += [ast.Try([ast.Return(result)], [], [], list(after))] if after else [ast.Return(result)]
    return _function(steps)


def _of_one(name: str, method: Function) -> ast.Call:
    """The call of a method that a runner would make before or after a test."""
    if isinstance(method, ast.AsyncFunctionDef):
        raise _NoScenario
    more = [ast.Constant(None) for _ in method.args.args[1:]]
    return ast.Call(ast.Attribute(loaded("one"), name, ast.Load()), [*more], [])


def _given(
    function: Function, method: bool, known: Mapping[str, tuple[Function, None]]
) -> Iterator[tuple[str, ast.expr]]:
    """The arguments that a runner would pass to a test: a literal case, or the result of a plain fixture."""
    cases = dict(_case(function))
    args = function.args.args[method:]
    for one in args[: len(args) - len(function.args.defaults)]:
        if one.arg in cases:
            yield one.arg, cases[one.arg]
        elif one.arg in known and not known[one.arg][0].args.args and _plain_fixture(known[one.arg][0]):
            yield one.arg, ast.Call(loaded(one.arg), [], [])
        else:
            raise _NoScenario


def _plain_fixture(function: Function) -> bool:
    return isinstance(function, ast.FunctionDef) and not any(
        isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function)
    )


def _case(function: Function) -> Iterator[tuple[str, ast.expr]]:
    """The first parametrised case of a test."""
    for decorator in function.decorator_list:
        if not isinstance(decorator, ast.Call) or getattr(decorator.func, "attr", "") != "parametrize":
            continue
        if len(decorator.args) < 2 or not isinstance(decorator.args[1], ast.List | ast.Tuple):
            raise _NoScenario
        names, cases = decorator.args[0], decorator.args[1].elts
        if isinstance(names, ast.Constant):
            asked = [one.strip() for one in str(names.value).split(",")]
        else:
            asked = [str(getattr(one, "value", "")) for one in getattr(names, "elts", ())]
        if not cases or not asked:
            raise _NoScenario
        values = [cases[0]] if len(asked) == 1 else list(getattr(cases[0], "elts", ()))
        if len(values) != len(asked) or isinstance(cases[0], ast.Call):
            raise _NoScenario
        yield from zip(asked, values, strict=True)


def _function(body: list[ast.stmt]) -> Function:
    made = short_tree(f"def {_ENTRY}(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.body = body
    return made
