"""JavaScript test files read and rewritten, run by Node.js itself."""

import json
import subprocess
from pathlib import Path

import pytest

from selfplay.oracle.rewriting import javascript_claims, javascript_tests
from selfplay.oracle.rewriting.javascript_code import JavaScriptCalls
from selfplay.oracle.rewriting.secret_names import is_odd

WORDS = ["one plain word here", "another plain word here"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["1", " [2, 3]", " {a: (4, 5)}"],
        ["')'", ' "(,"', " `,${f(')', `}`)}(`"],
        ["a /* ) , */", " b // )\n"],
        [r"/[)/,]\)/g", r" x / (y / z)"],
        ["() => { return /,\\)/.test(x) }", " a / b / c"],
        [],
    ],
)
def test_a_calls_end_and_arguments(arguments: list[str]) -> None:
    text = f"before(f({','.join(arguments)}), after)"
    call = JavaScriptCalls(text).at(8)
    assert call is not None
    assert text[7 : call.end] == f"f({','.join(arguments)})"
    assert [text[start:end] for start, end in call.arguments] == arguments


@pytest.mark.parametrize("text", ["f(", "f(a, [b)", "f(`${", "f('", "f(/* )"])
def test_a_call_that_does_not_end_is_none(text: str) -> None:
    assert JavaScriptCalls(text).at(1) is None


SUITE = """const { test, describe, beforeEach } = require('node:test');
const assert = require('node:assert');
const { half, parts } = require('./half.js');

describe('half', () => {
  let value;
  beforeEach(() => { value = 8; });
  test('half of eight', () => { assert.strictEqual(half(value), 4, 'a, (b)'); });
  test("parts", { timeout: 1000 }, async () => {
    assert.deepStrictEqual(parts('a/b').map((x) => x.replace(/[(,]/g, '')), ['a', 'b']);
    assert.ok(parts('a').length === 1);
  });
});
test('throws', () => { assert.throws(() => half('x'), TypeError) })
"""
HALF = """exports.half = (n) => { if (typeof n !== 'number') throw new TypeError(n); return n / 2; };
exports.parts = (text) => text.split('/');
"""


def outcomes(folder: Path, suite: str) -> dict[str, bool]:
    """Test -> passed, by node's own reporter."""
    (folder / "half.js").write_text(HALF)
    (folder / "half.test.js").write_text(suite)
    reporter = folder / "reporter.mjs"
    reporter.write_text(
        "export default async function* (events) { for await (const { type, data } of events)\n"
        "  if ((type === 'test:pass' || type === 'test:fail') && data.details.type !== 'suite')\n"
        "    yield JSON.stringify([data.name, type === 'test:pass']) + '\\n'; }\n"
    )
    command = ["node", "--test", f"--test-reporter={reporter}", "half.test.js"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)
    return dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("["))


def test_copies_pass_false_claims_fail_and_canaries_follow_their_hash(tmp_path: Path) -> None:
    names = ["half of eight", "parts", "throws"]
    made, copies, wrong = javascript_tests.canaries("half.test.js", SUITE, WORDS, names, (16, 6))
    said = outcomes(tmp_path, made)
    assert sorted(copies.values()) == sorted(names) and 4 <= len(wrong) <= 6
    assert {name: said[name] for name in (*names, *copies)} == dict.fromkeys((*names, *copies), True)
    assert {name: said[name] for name in wrong} == dict.fromkeys(wrong, False)
    assert {word: said[word] for word in WORDS} == {word: is_odd(word) for word in WORDS}
    assert not any(name in SUITE for name in (*copies, *wrong))


def test_no_more_than_asked_for() -> None:
    _, copies, wrong = javascript_tests.canaries("half.test.js", SUITE, WORDS, ["parts", "throws"], (1, 0))
    assert list(copies.values()) in (["parts"], ["throws"]) and wrong == []


def test_impossible_tests_fail_by_name(tmp_path: Path) -> None:
    said = outcomes(tmp_path, javascript_tests.impossible(SUITE))
    assert said == {"half of eight": False, "parts": False, "throws": False}


def test_chains_of_expect_are_made_false() -> None:
    text = "test('a', () => {\n  expect(f(1)).toBe(2);\n  expect(g()).not.toEqual([3]);\n  expect(h).toThrow();\n});\n"
    made, _, (wrong,) = javascript_tests.canaries("a.test.ts", text, WORDS, ["a"], (0, 1))
    false = made[made.index(f"test('{wrong}'") :]
    assert made.startswith("// @ts-nocheck\n")
    assert ").toBe(o_" in false and "expect(g()).toEqual([3])" in false and "expect(h).not.toThrow()" in false


@pytest.mark.parametrize(
    ("claim", "false"),
    [
        ("expect(f(1)).to.be.true", "expect(f(1)).to.not.be.true"),
        ("expect(f(1)).to.not.be.empty", "expect(f(1)).to.be.empty"),
        ("expect(f(1)).to.deep.equal([2])", "expect(f(1)).to.deep.equal(o([2], 1))"),
        ("f(1).should.have.length(2)", "f(1).should.not.have.length(2)"),
        ("t.is(f(1), 2)", "t.is(f(1),o( 2, 1))"),
        ("t.assert.equal(f(1), 2)", "t.assert.equal(f(1),o( 2, 1))"),
        ("t.truthy(f(1))", "t.truthy(!(f(1)))"),
        ("t.test(f(1), 2)", ""),
    ],
)
def test_claims_of_other_libraries_are_made_false(claim: str, false: str) -> None:
    assert javascript_claims.falsified(claim, "o", 1) == false


VALUES = "[0, 1, -1, 0.5, '', 'a', 'A b', 'aa', ' ', [], [1], [1, 1], ['a', ['b']], {}, {a: 1}, true, null, 7n]"


def test_another_value_is_another_in_every_variant(tmp_path: Path) -> None:
    source = tmp_path / "other.js"
    check = (
        f"const found = [];\nfor (const value of {VALUES}) "
        f"for (let variant = 0; variant < {javascript_claims.VARIANTS}; variant++) "
        "try { require('node:assert').deepStrictEqual(o_x(value, variant), value); "
        "found.push([variant, String(value)]); } "
        "catch (error) { if (error.code !== 'ERR_ASSERTION') throw error; }\nconsole.log(JSON.stringify(found));\n"
    )
    source.write_text(javascript_claims.other_value("_x", ()) + check)
    done = subprocess.run(["node", str(source)], capture_output=True, text=True, timeout=60)
    assert json.loads(done.stdout) == [], done.stderr
