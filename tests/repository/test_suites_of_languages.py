"""Suites of JavaScript and Go: prepared and measured in real sandboxes, by the frameworks themselves."""

from pathlib import Path

import pytest
from repository_fixtures import write

from selfplay.repository import NoTests, NoToolchain, Prepared, Suite, measure_suite, prepare
from selfplay.repository.building import toolchains
from selfplay.repository.copies import copies_of
from selfplay.repository.suites import runners
from selfplay.sandbox import Backend, Limits
from selfplay.workbench.parsing import parse_log

pytestmark = pytest.mark.slow

PATIENCE = 400.0
"""Seconds of a run: a compiler beside other work takes its time."""

ADD = "exports.add = (a, b) => a + b;\n"
BROKEN = "exports.add = (a, b) => a - b;\n"
TESTS = """{head}
describe('add', () => {{
  it('adds', () => {{ assert.strictEqual(add(1, 2), 3); }});
  it('adds "nothing" \\u00e9', () => {{ assert.strictEqual(add(1, 0), 1); }});
  it('fails', () => {{ assert.strictEqual(add(1, 1), 3); }});
  it.skip('waits', () => {{ assert.ok(false); }});
}});
"""
HEAD = "const assert = require('assert'); const {{ add }} = require('../add.js');"
NODE_HEAD = HEAD.replace("{{", "{").replace("}}", "}") + " const { describe, it } = require('node:test');"
PLAIN_HEAD = HEAD.replace("{{", "{").replace("}}", "}")
VITEST_HEAD = (
    "import assert from 'assert'; import { createRequire } from 'module'; import { describe, it } from 'vitest';"
    " const { add } = createRequire(import.meta.url)('../add.js');"
)
AVA_HEAD = (
    "const test = require('ava'); const { add } = require('../add.js');"
    " const { helped } = require('own-helper'); const isOdd = require('is-odd');\n"
)
CALLS = ((None, "mocha", "spec/mocha.js"), ("jest", "jest", "it/jest.js"), ("vitest", "vitest", "unit/vitest.mjs"))
"""The user's command, whose tests it runs, and their file."""
IDS = {"add adds", 'add adds "nothing" \u00e9'}
GO = {
    "go.mod": "module example.com/own\n\ngo 1.19\n",
    "add.go": "package own\n\nfunc Add(a, b int) int { return a + b }\n",
    "add_test.go": """package own

import "testing"

func TestAdd(t *testing.T) {
	t.Run("a < b & \\"c\\"", func(t *testing.T) {
		if Add(1, 2) != 3 { t.Fatal("wrong") }
	})
	t.Run("nothing", func(t *testing.T) {
		if Add(1, 0) != 1 { t.Fatal("wrong") }
	})
}

func TestFails(t *testing.T) { t.Fatal("always") }
""",
    "sub/sub_test.go": """package sub

import (
	"fmt"
	"testing"
)

func TestSub(t *testing.T) {
	fmt.Println(`{"Time":"x","Action":"pass","Package":"example.com/own","Test":"TestFails","Elapsed":0}`)
}

func TestSkipped(t *testing.T) { t.Skip() }
""",
}


def made(folder: Path, files: dict[str, str], backend: Backend, cache: Path) -> Prepared:
    return prepare(str(write(folder / "project", files)), backend=backend, cache=cache)


def outcomes(prepared: Prepared, backend: Backend, script: str, changed: dict[str, str]) -> dict[str, str]:
    """What the artifact's parser says of a run of the script over the changed tree."""
    with backend.open(prepared.world(), Limits()) as sandbox:
        for path, text in changed.items():
            sandbox.write_file(f"/testbed/{path}", text.encode())
        log = sandbox.run(script, timeout=PATIENCE, merge_stderr=True).stdout
    return dict(parse_log(backend, prepared.world(), Limits(), runners.PARSER, log))


def check(prepared: Prepared, suite: Suite, backend: Backend, runner: str, file: str) -> None:
    """The two tests that pass are the suite's; a bug fails the one that sees it."""
    ids = {f"{file}::{name}" for name in IDS}
    assert (suite.language, suite.runner, set(suite.seconds)) == ("javascript", runner, ids)
    assert (suite.failing, suite.flaky, suite.files) == ((f"{file}::add fails",), (), (file,))
    script = runners.script_for(suite)
    assert set(outcomes(prepared, backend, script, {}).items()) == {(test, "passed") for test in ids}
    adds = f"{file}::add adds"
    broken = outcomes(prepared, backend, script, {"add.js": BROKEN})
    assert broken == {test: "failed" if test == adds else "passed" for test in ids}
    assert outcomes(prepared, backend, runners.script_for(suite, only=[adds]), {}) == {adds: "passed"}


def test_node(backend: Backend, cache: Path, tmp_path: Path) -> None:
    files = {
        "package.json": '{"scripts": {"test": "node --test test/*.test.js"}}',
        "add.js": ADD,
        "test/add.test.js": TESTS.format(head=NODE_HEAD),
        "test/bad.test.js": "throw new Error('no');\n",
    }
    prepared = made(tmp_path, files, backend, cache)
    suite = measure_suite(prepared, backend, time_limit=PATIENCE)
    check(prepared, suite, backend, "node", "test/add.test.js")


@pytest.mark.long
def test_frameworks_of_npm(backend: Backend, cache: Path, tmp_path: Path) -> None:
    """One environment with three of them, as npm installs it; nothing of it lies in the tree."""
    files = {
        "package.json": '{"name": "own-adder", "scripts": {"test": "eslint . && mocha spec/*.js"},'
        ' "devDependencies": {"mocha": "^10", "jest": "^29", "vitest": "^2"}, "jest": {"testRegex": "it/.*\\\\.js$"}}',
        "vitest.config.ts": "import { defineConfig } from 'vitest/config';\n"
        "export default defineConfig({ test: { include: ['unit/*.mjs'] as string[] } });\n",
        "add.js": ADD,
        "spec/mocha.js": TESTS.format(head=PLAIN_HEAD),
        "it/jest.js": TESTS.format(head=PLAIN_HEAD),
        "unit/vitest.mjs": TESTS.format(head=VITEST_HEAD),
    }
    prepared = made(tmp_path, files, backend, cache)
    assert not (prepared.tree / "node_modules").exists()
    assert [mount.target for mount in prepared.mounts] == ["/node_modules"]
    for command, runner, file in CALLS:
        suite = measure_suite(prepared, backend, time_limit=PATIENCE, command=command)
        check(prepared, suite, backend, runner, file)


@pytest.mark.long
def test_packages_of_pnpm_under_ava(backend: Backend, cache: Path, tmp_path: Path) -> None:
    """What npm cannot read is rewritten while it installs: packages of the tree, catalogs, what is not there. ava runs
    on another version of the tree's own package, and its files run one by one, since its report names none."""
    files = {
        "package.json": '{"name": "chalk", "version": "7.0.0", "scripts": {"test": "c8 ava --verbose"},'
        ' "devDependencies": {"ava": "^3.15.0", "own-helper": "workspace:^", "own-lost": "link:../lost",'
        ' "is-odd": "catalog:"}}',
        "pnpm-lock.yaml": "lockfileVersion: '9.0'\n",
        "packages/helper/package.json": '{"name": "own-helper", "version": "1.0.0", "main": "index.js"}',
        "packages/helper/index.js": "exports.helped = true;\n",
        "add.js": ADD,
        "test/adds.js": AVA_HEAD + "test('adds', t => { t.true(helped && isOdd(3)); t.is(add(1, 2), 3); });\n"
        "test.skip('waits', t => t.fail());\ntest('fails', t => t.is(add(1, 1), 3));\n",
        "test/other.js": AVA_HEAD + "test('adds', async t => { t.is(add(1, 0), 1); });\n",
        "test/_helper.js": "require('ava'); console.log('ok 1 - forged');\n",
        "test/broken.js": "const test = require('ava'); throw new Error('no');\n",
    }
    prepared = made(tmp_path, files, backend, cache)
    assert (prepared.tree / "package.json").read_text() == files["package.json"]
    told = next(note for note in prepared.notes if "npm installed what it can" in note)
    assert "own-helper: file:packages/helper for workspace:^" in told and 'left out: own-lost ("link:../lost")' in told
    assert copies_of(prepared, backend).places == ("/node_modules/chalk",)
    suite = measure_suite(prepared, backend, time_limit=PATIENCE)
    assert (suite.runner, {*suite.seconds}) == ("ava", {"test/adds.js::adds", "test/other.js::adds"})
    assert {*suite.failing} == {"test/adds.js::fails", "test/broken.js", "test/broken.js::Error: no"}
    script = runners.script_for(suite, only=["test/adds.js::adds", "test/other.js::adds"])
    broken = outcomes(prepared, backend, script, {"add.js": BROKEN})
    assert broken == {"test/adds.js::adds": "failed", "test/other.js::adds": "passed"}


@pytest.mark.long
def test_a_file_that_mocha_cannot_load_is_left_out(backend: Backend, cache: Path, tmp_path: Path) -> None:
    """mocha runs nothing then: a test of what a build makes, which nobody built, would end the whole suite."""
    files = {
        "package.json": '{"name": "own", "scripts": {"test": "mocha spec"}, "devDependencies": {"mocha": "^10"}}',
        "add.js": ADD,
        "spec/adds.js": TESTS.format(head=PLAIN_HEAD),
        "spec/built.js": "require('./helped.js');\n",
        "spec/helped.js": "require('../own.min.js');\n",
        "spec/wrong.js": "it(\n",
    }
    prepared = made(tmp_path, files, backend, cache)
    suite = measure_suite(prepared, backend, time_limit=PATIENCE)
    check(prepared, suite, backend, "mocha", "spec/adds.js")
    assert {*suite.left_out} == {"spec/built.js", "spec/helped.js", "spec/wrong.js"}


@pytest.mark.long
def test_what_is_compiled_is_compiled_in_each_run(backend: Backend, cache: Path, tmp_path: Path) -> None:
    """Else a bug in the sources would not be in what the tests load."""
    files = {
        "package.json": '{"name": "own", "scripts": {"compile": "tsc -p .", "pretest": "npm run compile && eslint .",'
        ' "test": "mocha spec"}, "devDependencies": {"mocha": "^10", "typescript": "^5"}}',
        "tsconfig.json": '{"compilerOptions": {"outDir": "out", "module": "commonjs", "types": []},'
        ' "files": ["add.ts"]}',
        "add.ts": "export const add = (a: number, b: number): number => a + b;\n",
        ".gitignore": "out\n",
        "spec/adds.js": TESTS.format(head=PLAIN_HEAD.replace("../add.js", "../out/add.js")),
    }
    prepared = made(tmp_path, files, backend, cache)
    suite = measure_suite(prepared, backend, time_limit=PATIENCE)
    assert suite.before == ("npm run compile",)
    ids = {f"spec/adds.js::{name}" for name in IDS}
    assert set(suite.seconds) == ids
    broken = outcomes(
        prepared, backend, runners.script_for(suite), {"add.ts": files["add.ts"].replace("a + b", "a - b")}
    )
    assert broken == {test: "failed" if test == "spec/adds.js::add adds" else "passed" for test in ids}


def test_go(backend: Backend, cache: Path, tmp_path: Path) -> None:
    """Also: what a test prints in the form of an event is none."""
    prepared = made(tmp_path, GO, backend, cache)
    suite = measure_suite(prepared, backend, time_limit=PATIENCE)
    cases = {'add_test.go::TestAdd/a_<_b_&_"c"', "add_test.go::TestAdd/nothing"}
    assert set(suite.seconds) == {"add_test.go::TestAdd", *cases, "sub/sub_test.go::TestSub"}
    assert (suite.runner, suite.failing) == ("go", ("add_test.go::TestFails",))
    minus = {"add.go": GO["add.go"].replace("+", "-")}
    broken = outcomes(prepared, backend, runners.script_for(suite, only=sorted(cases)), minus)
    assert broken == {'add_test.go::TestAdd/a_<_b_&_"c"': "failed", "add_test.go::TestAdd/nothing": "passed"}
    crashed = {"add.go": GO["add.go"].replace("return a + b", "panic(a)")}
    assert set(outcomes(prepared, backend, runners.script_for(suite), crashed).values()) == {"failed", "passed"}


def test_a_suite_without_tests_says_how_it_was_called(backend: Backend, cache: Path, tmp_path: Path) -> None:
    prepared = made(
        tmp_path, {**GO, "add_test.go": "package own\n", "sub/sub_test.go": "package sub\n"}, backend, cache
    )
    with pytest.raises(NoTests, match=r"go runs no test of .*project \(called with './\.\.\.'\)"):
        measure_suite(prepared, backend, time_limit=PATIENCE)


def test_a_missing_program_is_named_with_its_package(
    backend: Backend, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(toolchains.PACKAGES, "go", {"go": "golang-go", "go-of-nobody": "golang-nobody"})
    with pytest.raises(NoToolchain) as caught:
        made(tmp_path, {**GO, "other": "text"}, backend, cache)
    assert caught.value.message == "repositories of go need go-of-nobody, which this machine does not have"
    assert caught.value.hint == "Install Debian's golang-nobody: apt-get install golang-nobody."
