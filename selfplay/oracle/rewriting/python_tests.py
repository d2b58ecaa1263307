"""Adds canaries and renamed copies to Python test files, or makes every test fail. For pytest and unittest."""

import ast
import io
import re
import secrets
from collections.abc import Collection, Sequence
from typing import NamedTuple

from selfplay.oracle.rewriting.python_claims import VARIANTS, falsified, other_value, with_few_cases
from selfplay.oracle.rewriting.python_trees import (
    Function,
    Owner,
    WantedTests,
    find,
    parsed,
    source_of,
    unparsed,
    without,
)
from selfplay.oracle.rewriting.secret_names import as_class, secret_name, vocabulary
from selfplay.oracle.rewriting.variants import chosen
from selfplay.python_source import syntax_tree

OTHERS = 4
"""The most tests of a file, besides its F2P tests, that are kept and made to fail."""


def canaries(
    path: str, text: str, words: Sequence[str], fail_to_pass: Sequence[str], most: tuple[int, int], file: str
) -> tuple[str, dict[str, str], list[str]]:
    """The file with one test per word and renamed copies of its F2P tests; word in a copy's id -> name of the copied
    function; words in the ids of copies that assert something wrong. `most`: the limits of copies and of wrong copies,
    chosen at random; `file`: the file name that copies report.

    The text is empty if the file is not Python.
    """
    tree = parsed(text)
    if tree is None:
        return "", {}, []
    lines = io.StringIO(text, newline="").readlines()  # as Python counts them: a form feed does not end a line
    end = _before_main(tree, len(lines))
    known, other = vocabulary(text), f"_{secret_name(vocabulary(text), text)}"
    added = _canaries(words, known, _kinds(tree))
    copies: dict[str, str] = {}
    wrong, made = list[str](), set[str]()
    asked = WantedTests(path, fail_to_pass)
    wanted = [(function, owner) for function, owner in find(tree) if asked.has(function, owner)]
    for function, owner in secrets.SystemRandom().sample(wanted, min(most[0], len(wanted))):
        name = "test_" + secret_name(known, "".join([text, *added]))
        copies[name] = function.name
        added.append(_copy(_source(function, lines), function, owner, name, file))
    for (function, owner), variant in chosen(wanted, most[1], VARIANTS):
        false = falsified(_source(function, lines), other, variant)
        if false and false not in made:
            made.add(false)
            wrong.append("test_" + secret_name(known, "".join([text, *added])))
            added.append(_copy(with_few_cases(false), function, owner, wrong[-1], file))
    secrets.SystemRandom().shuffle(added)  # so that their order reveals nothing
    added.insert(0, other_value(other, known))
    head, tail = "".join(lines[:end]), "".join(lines[end:])
    return f"{head}\n\n{''.join(added)}\n{tail}", copies, wrong


def holds(path: str, text: str, tests: Collection[str]) -> bool:
    """Whether one of the tests seems to be in this file, by their ids."""
    tree = parsed(text)
    asked = WantedTests(path, tests)
    return tree is not None and any(asked.has(function, owner) for function, owner in find(tree))


def impossible(path: str, text: str, fail_to_pass: Collection[str]) -> str:
    """The file with a failure as the first statement of each F2P test, and of a few others; all other tests are
    removed.

    They are removed because reporting a failure costs more than most tests, and a removed test cannot pass either. A
    text that is not Python, or nested too deeply to be unparsed, stays unchanged.
    """
    tree = parsed(text)
    if tree is None:
        return text
    found, asked, words = list(find(tree)), WantedTests(path, fail_to_pass), vocabulary(text)
    wanted = {id(function) for function, owner in found if asked.has(function, owner)}
    others = [id(function) for function, _ in found if id(function) not in wanted]
    kept = wanted | set(secrets.SystemRandom().sample(others, min(len(others), OTHERS)))
    for function, _ in found:
        if id(function) in kept:
            at = 1 if ast.get_docstring(function) is not None and len(function.body) > 1 else 0
            function.body.insert(at, syntax_tree(_failure(words)).body[0])
    try:
        without(tree, {id(function) for function, _ in found} - kept)
        return unparsed(tree)
    except RecursionError:
        return text


def _before_main(tree: ast.Module, default: int) -> int:
    """The line before `if __name__ == "__main__"`, which is the end of a file run as a program."""
    for node in reversed(tree.body):
        if isinstance(node, ast.If) and "__name__" in source_of(node.test):
            return node.lineno - 1
        if isinstance(node, Function | ast.ClassDef):  # later code may need the code before it
            break
    return default


def _failure(words: Sequence[str]) -> str:
    """A statement that fails as an ordinary test might."""
    one, other = secret_name(words), secret_name(words)
    forms = (
        f"raise AssertionError({one!r})", f"raise AssertionError({f'{one!r} != {other!r}'!r})", f"assert {one!r} in ''",
        f"raise ValueError({one!r})", f"raise TypeError({one!r})", f"raise KeyError({one!r})", f"{{}}[{one!r}]",
        f"int({one!r})",
    )  # fmt: skip
    return secrets.choice(forms)


class _Kinds(NamedTuple):
    """The kinds of tests a file has: functions, methods of plain classes, methods that unittest runs."""

    functions: bool
    methods: bool
    cases: bool


def _kinds(tree: ast.Module) -> _Kinds:
    """Find the kinds. A class with an unknown base may be of either kind. If a class has an unusual name, one cannot
    tell how a new class must be named, so functions are added instead."""
    owners = [owner for _, owner in find(tree)]
    bases = [source_of(base) for owner in owners if owner for base in owner.node.bases]
    plain = [owner.name.startswith("Test") for owner in owners if owner and not owner.node.bases]
    strange = not owners or any("TestCase" not in base for base in bases)
    functions = None in owners or not owners or not all(plain)
    return _Kinds(functions, methods=any(plain) or strange, cases=bool(bases) or strange)


def _canaries(words: Sequence[str], known: Sequence[str], kinds: _Kinds) -> list[str]:
    """One test per word for each kind of test in the file; it passes if the hash of the word is odd.

    Every kind of the file, since a trick that makes one kind pass may not affect another; no other kinds, since
    failures are costly."""
    hashed, case, parity = (f"_{secret_name(known)}" for _ in range(3))
    asked = f"\nimport hashlib as {hashed}, unittest as {case}\n\n\ndef {parity}(text):\n"
    asked += f"    return int({hashed}.sha256(text.encode()).hexdigest(), 16) % 2\n\n"
    functions = [f"\n\ndef test_{word}():\n    assert {parity}({word!r})\n" for word in words]
    plain = [f"    def test_{word}(self):\n        assert {parity}({word!r})\n" for word in words]
    checks = (f"self.assertEqual({parity}({word!r}), 1)" if number % 4 < 2 else f"{{1: 0}}[{parity}({word!r})]"
              for number, word in enumerate(words))  # fmt: skip
    cases = [f"    def test_{word}(self):\n        {check}\n" for word, check in zip(words, checks, strict=True)]
    asked += _class(known, "", plain) if kinds.methods else ""
    asked += _class(known, f"({case}.TestCase)", cases) if kinds.cases else ""
    return [asked, *(functions if kinds.functions else ())]


def _class(known: Sequence[str], bases: str, methods: Sequence[str]) -> str:
    """A class of tests under a secret name."""
    name = as_class(secret_name(known))
    return f"\n\nclass Test{name}{bases}:\n" + "\n".join(methods) + "\n"


def _source(function: Function, lines: Sequence[str]) -> str:
    """The function as separate code. A method stays indented, so that its multi-line strings do not change."""
    first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
    source = "".join(lines[first - 1 : function.end_lineno])
    return f"if True:\n{source}" if source[:1].isspace() else source


def _copy(source: str, function: Function, owner: Owner | None, name: str, file: str) -> str:
    """Code that compiles a copy of the function as if it were in another file; it does nothing if its class is
    missing."""
    source = re.sub(rf"\bdef\s+{function.name}\b", f"def {name}", source, count=1)
    move = f"    setattr({owner.path}, {name!r}, globals().pop({name!r}))\n" if owner else ""
    made = f"\ntry:\n    exec(compile({source!r}, {file!r}, 'exec'), globals())\n{move}"
    return f"{made}except Exception:\n    globals().pop({name!r}, None)\n"
