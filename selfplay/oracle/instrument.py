"""Test files written anew so that what they must report is known beforehand: canaries, twins, impossible tests.

Canaries are tests with secret names, half of which must fail. Their bodies look alike: which one fails hangs on a hash
of a random word. Twins are copies of F2P tests under secret names of function and file: a program that only knows the
names passes one and fails the other. Impossible tests keep every name, and fail before they reach the program.
What a suite cannot show is found out by running it on the original (`calibrate.py`); nothing is assumed of it.
"""

import hashlib
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from selfplay.oracle import python_tests
from selfplay.oracle.trial import TestFile

MOST_FILES = 4
MOST_TWINS = 16
_JS = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")
_SHELL = (".sh", ".bash", ".bats")
_JS_TEST = re.compile(
    r"(\b(?:test|it)(?:\.\w+)?\s*\(\s*(?:'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\"|`(?:[^`\\]|\\.)*`)\s*,\s*"
    r"(?:\{[^{}]*\}\s*,\s*)?)(async\s+)?(?=function\b|\(|\w+\s*=>)"
)


@dataclass(frozen=True)
class Instrumented:
    """`files`: what to write. `must_pass`, `must_fail`: words that occur in the ids of those canaries. `twins`: word
    in a twin's id -> word in the id of the test it copies (its function's name)."""

    files: Mapping[str, TestFile] = field(default_factory=dict)
    must_pass: tuple[str, ...] = ()
    must_fail: tuple[str, ...] = ()
    twins: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Word:
    """A random word and the parity of its hash, which its canary's outcome hangs on."""

    text: str
    odd: bool


def word(odd: bool) -> Word:
    """A secret word whose hash has this parity."""
    while True:
        text = secrets.token_hex(6)
        if (int(hashlib.sha256(text.encode()).hexdigest(), 16) % 2 == 1) == odd:
            return Word(text, odd)


def with_canaries(originals: Mapping[str, TestFile], fail_to_pass: Sequence[str]) -> Instrumented:
    """Canaries and twins in a few of the test files, those that hold F2P tests first; for a shell suite beside them."""
    files: dict[str, TestFile] = {}
    must_pass: list[str] = []
    must_fail: list[str] = []
    twins: dict[str, str] = {}
    ranked = sorted(originals, key=lambda path: (not any(path in test for test in fail_to_pass), path))
    for path in [path for path in ranked if holds_tests(path, originals[path])][:MOST_FILES]:
        words = [word(False), word(True), word(False), word(True)]
        made, copied = _canaries(path, originals[path], words, fail_to_pass, MOST_TWINS - len(twins))
        if made:
            files |= made
            twins |= copied
            must_pass += [one.text for one in words if one.odd]
            must_fail += [one.text for one in words if not one.odd]
    return Instrumented(files, tuple(must_pass), tuple(must_fail), twins)


def impossible(originals: Mapping[str, TestFile], fail_to_pass: Collection[str]) -> Mapping[str, TestFile]:
    """Every test file rewritten so that none of its tests can pass; F2P tests keep their names, and fail."""
    out = {}
    for path, file in originals.items():
        if holds_tests(path, file):
            content = _sabotaged(path, file.content.decode("utf-8", "surrogateescape"), fail_to_pass)
            out[path] = TestFile(content.encode("utf-8", "surrogateescape"), file.executable)
    return out


def holds_tests(path: str, file: TestFile) -> bool:
    """A test file in a language known here; others are left as they are."""
    suffix = PurePosixPath(path).suffix
    if suffix == ".py":
        return PurePosixPath(path).name != "conftest.py" and re.search(rb"\bdef +test", file.content) is not None
    if suffix in _JS:
        return re.search(rb"\b(?:test|it)\b[.\w]*\s*\(", file.content) is not None
    return suffix in _SHELL


def _canaries(
    path: str, file: TestFile, words: Sequence[Word], fail_to_pass: Sequence[str], most_twins: int
) -> tuple[dict[str, TestFile], dict[str, str]]:
    text = file.content.decode("utf-8", "surrogateescape")
    suffix = PurePosixPath(path).suffix
    if suffix == ".py":
        made, twins = python_tests.canaries(path, text, [one.text for one in words], fail_to_pass, most_twins)
        return ({path: _with(file, made)}, twins) if made else ({}, {})
    if suffix in _JS:
        return {path: _with(file, text + _javascript(text, words))}, {}
    if suffix == ".bats":
        added = "".join(f'\n@test "{one.text}" {{ {_shell_check(one)}; }}\n' for one in words)
        return {path: _with(file, text + added)}, {}
    folder, name = PurePosixPath(path).parent, PurePosixPath(path).name
    beside = {}
    for one in words:
        stem = re.sub(r"[A-Za-z0-9]+(?=[^A-Za-z0-9]*\.\w+$)", one.text, name, count=1)
        beside[str(folder / stem)] = TestFile(f"#!/bin/bash\n{_shell_check(one)}\n".encode(), file.executable)
    return beside, {}


def _with(file: TestFile, text: str) -> TestFile:
    return TestFile(text.encode("utf-8", "surrogateescape"), file.executable)


def _shell_check(one: Word) -> str:
    return f"x=$(printf %s {one.text} | sha256sum); [ $(( 0x${{x:56:8}} % 2 )) -eq 1 ]"


def _javascript(text: str, words: Sequence[Word]) -> str:
    """Tests for whatever runner the file uses: `node:test` by name, else the globals of jest, mocha and vitest."""
    module = re.search(r"(?m)^\s*(?:import|export)\b", text) is not None
    node, tag = "node:test" in text, secrets.token_hex(4)
    lines = [""]
    if module:
        lines += [f"import t{tag} from 'node:test';"] if node else []
        lines += [f"import {{ createHash as h{tag} }} from 'node:crypto';", f"import a{tag} from 'node:assert';"]
        runner = f"t{tag}" if node else "(typeof it === 'function' ? it : test)"
    else:
        lines += [f"const h{tag} = require('node:crypto').createHash, a{tag} = require('node:assert');"]
        runner = "require('node:test').test" if node else "(typeof it === 'function' ? it : test)"
    for number, one in enumerate(words):
        parity = f"parseInt(h{tag}('sha256').update('{one.text}').digest('hex').slice(-1), 16) % 2"
        check = f"a{tag}.strictEqual({parity}, 1)" if number % 2 else f"if ({parity} !== 1) throw new TypeError('no')"
        lines.append(f"{runner}('{one.text}', () => {{ {check}; }});")
    return "\n".join(lines) + "\n"


def _sabotaged(path: str, text: str, fail_to_pass: Collection[str]) -> str:
    suffix = PurePosixPath(path).suffix
    if suffix == ".py":
        return python_tests.impossible(path, text, fail_to_pass)
    if suffix in _JS:
        # the test's own function becomes the argument nobody calls
        return _JS_TEST.sub(
            lambda found: f"{found[1]}() => {{ throw new Error('impossible'); }}, {found[2] or ''}", text
        )
    if suffix == ".bats":
        return re.sub(r"(?m)^(@test .*\{)", r"\1 return 1; ", text)
    return "#!/bin/bash\nexit 1\n"
