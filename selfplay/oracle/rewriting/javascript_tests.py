"""JavaScript and TypeScript test files: adds canaries, renamed copies and false claims, or makes every test fail.

Works for the runner a file uses: `node:test` by name, else the globals of jest, mocha and vitest. A copy is inserted
directly after its test, where it sees the same names and hooks.
"""

import itertools
import re
import secrets
from collections.abc import Collection, Sequence
from typing import NamedTuple

from selfplay.oracle.rewriting.javascript_claims import VARIANTS, Edit, edited, falsified, other_value
from selfplay.oracle.rewriting.javascript_code import JavaScriptCalls
from selfplay.oracle.rewriting.secret_names import secret_name, some_words
from selfplay.oracle.rewriting.variants import chosen

SUFFIXES = (".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx")
MOST_CASES = 2000
_TYPED = (".ts", ".mts", ".cts", ".tsx")
_STRING = r"(?:'(?:[^'\\\n]|\\.)*+'|\"(?:[^\"\\\n]|\\.)*+\"|`(?:[^`\\$]|\\.)*+`)"
_TEST = re.compile(
    rf"(\b(?:test|it)(?:\.\w+)?\s*\(\s*{_STRING}\s*,\s*(?:\{{[^{{}}]*\}}\s*,\s*)?)"
    r"(async\s+)?(?=function\b|\(|\w+\s*=>)"
)
_FIRST_STRING = re.compile(rf"([^'\"`]*){_STRING}")
_NAMED = re.compile(rf"(?m)^[ \t]*(?:test|it)\s*(\()\s*({_STRING})")


class _TestStatement(NamedTuple):
    """A test that is a statement of its own."""

    start: int
    end: int
    name: str


def words_of(text: str) -> tuple[str, ...]:
    """The words in the names of a file's tests."""
    return some_words(found[2] for found in _NAMED.finditer(text))


def canaries(
    path: str, text: str, words: Sequence[str], fail_to_pass: Sequence[str], most: tuple[int, int]
) -> tuple[str, dict[str, str], list[str]]:
    """The file with one test per word and renamed copies of its F2P tests; word in a copy's id -> name of the copied
    test; words in the ids of copies that assert something wrong. `most`: the limits of copies and of wrong copies."""
    tag, known = f"_{secrets.token_hex(4)}", words_of(text)
    copies: dict[str, str] = {}
    wrong: list[str] = []
    edits, made_false = list[Edit](), set[str]()
    wanted = _cases_of(text, fail_to_pass)
    for found in secrets.SystemRandom().sample(wanted, min(most[0], len(wanted))):
        copy = secret_name(known, text, copies, joint=" ")
        copies[copy] = found.name
        edits.append((found.end, found.end, f";\n{_with_name(text[found.start : found.end], copy)};\n"))
    for found, variant in chosen(wanted, most[1], VARIANTS):
        false = falsified(text[found.start : found.end], f"o{tag}", variant)
        if false and false not in made_false:
            made_false.add(false)
            wrong.append(secret_name(known, text, (*copies, *wrong), joint=" "))
            edits.append((found.end, found.end, f";\n{_with_name(false, wrong[-1])};\n"))
    secrets.SystemRandom().shuffle(edits)  # so that their order does not show which are true
    made = edited(text, edits)
    head = "// @ts-nocheck\n" if path.endswith(_TYPED) else ""
    return f"{head}{made}\n{_canaries(text, words, tag)}{other_value(tag, known)}", copies, wrong


def impossible(text: str) -> str:
    """The file with each test's function replaced by one that throws; the old function becomes an argument that is
    never called."""
    return _TEST.sub(lambda found: f"{found[1]}() => {{ throw new Error('impossible'); }}, {found[2] or ''}", text)


def holds_tests(text: str) -> bool:
    """Whether the file seems to define tests."""
    return re.search(r"\b(?:test|it)\b[.\w]{0,80}\s*\(", text) is not None


def holds(text: str, tests: Collection[str]) -> bool:
    """Whether one of the tests seems to be in this file, by their names."""
    return bool(_cases_of(text, tests))


def _cases(text: str) -> list[_TestStatement]:
    """The first tests of a file, `MOST_CASES` of them at most."""
    calls, found = JavaScriptCalls(text), list[_TestStatement]()
    for match in itertools.islice(_NAMED.finditer(text), MOST_CASES):
        call = calls.at(match.start(1))
        if call is not None and len(call.arguments) >= 2:
            start, end = call.arguments[0]
            first = match.start() + len(match[0]) - len(match[0].lstrip())
            found.append(_TestStatement(first, call.end, text[start:end].strip()[1:-1]))
    return found


def _cases_of(text: str, tests: Collection[str]) -> list[_TestStatement]:
    """The cases that these test ids seem to name."""
    joined = "\n".join(tests)
    return [case for case in _cases(text) if case.name in joined] if tests else []


def _with_name(source: str, name: str) -> str:
    first = _FIRST_STRING.match(source)
    return f"{first[1]}'{name}'{source[first.end() :]}" if first else source


def _canaries(text: str, words: Sequence[str], tag: str) -> str:
    """One test per word, at the end of the file: it passes if the hash of the word is odd."""
    node = "node:test" in text
    if re.search(r"(?m)^[ \t]*(?:import|export)\b", text):
        lines = [f"import t{tag} from 'node:test';"] if node else []
        lines += [f"import {{ createHash as h{tag} }} from 'node:crypto';", f"import a{tag} from 'node:assert';"]
        runner = f"t{tag}" if node else "(typeof it === 'function' ? it : test)"
    else:
        lines = [f"const h{tag} = require('node:crypto').createHash, a{tag} = require('node:assert');"]
        runner = "require('node:test').test" if node else "(typeof it === 'function' ? it : test)"
    for number, word in enumerate(words):
        parity = f"parseInt(h{tag}('sha256').update('{word}').digest('hex').slice(-1), 16) % 2"
        check = f"a{tag}.strictEqual({parity}, 1)" if number % 2 else f"if ({parity} !== 1) throw new TypeError('no')"
        lines.append(f"{runner}('{word}', () => {{ {check}; }});")
    return "\n".join(lines) + "\n"
