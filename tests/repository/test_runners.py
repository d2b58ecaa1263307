"""Which framework a repository uses, and how it calls it, read from its own words."""

import json
import time
from pathlib import Path

import pytest
from repository_fixtures import write

from selfplay.repository import NoTests
from selfplay.repository.suites.runners import RunnerCall, calling
from selfplay.repository.suites.runners.command_line import found_in, segments

CALLS = {
    "mocha": ("mocha", (), ()),
    "mocha --require test/env --reporter spec --check-leaks test/ test/acceptance/":
        ("mocha", ("--require", "test/env", "--check-leaks"), ("test/", "test/acceptance/")),
    "nyc --reporter=text mocha --require @babel/register --reporter dot --recursive":
        ("mocha", ("--require", "@babel/register", "--recursive"), ()),
    "cross-env NODE_ENV=test TZ=UTC node_modules/.bin/_mocha -R min -t 5000 'test/**/*.js'":
        ("mocha", ("NODE_ENV=test", "TZ=UTC", "-t", "5000"), ("test/**/*.js",)),
    "node --test": ("node", (), ()),
    "xo && node --import=tsx/esm --test test/*.ts && tsd": ("node", ("--import=tsx/esm",), ("test/*.ts",)),
    "tsx --test src/*.test.ts": ("node", ("--import=tsx",), ("src/*.test.ts",)),
    "node --test --experimental-test-coverage --test-reporter spec a.mjs": ("node", (), ("a.mjs",)),
    "node --experimental-vm-modules node_modules/jest/bin/jest.js --coverage -c jest.json src":
        ("jest", ("NODE_OPTIONS=--experimental-vm-modules", "-c", "jest.json"), ("src",)),
    "eslint . && vitest run --typecheck --coverage": ("vitest", (), ()),
    "xo && c8 ava --verbose -T 5m 'test/*.js' && tsd": ("ava", ("-T", "5m"), ("test/*.js",)),
    "go test -race -v -tags 'a b' ./...": ("go", ("-tags", "a b"), ("./...",)),
}  # fmt: skip


def called(command: str) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
    call = next((call for words in segments(command) if (call := found_in(words))), None)
    return (call.runner.name, call.options, call.places) if call else None


@pytest.mark.parametrize("command", CALLS)
def test_a_call_without_what_changes_its_report(command: str) -> None:
    assert called(command) == CALLS[command]


@pytest.mark.parametrize(
    "command",
    ["prettier --parser jest", "node server.js", "go build ./...", "eslint .", "echo 'open", "", "tape test/*.js"],
)
def test_what_is_no_call(command: str) -> None:
    assert called(command) is None


def of(tmp_path: Path, package: str, command: str | None = None) -> RunnerCall:
    return calling(write(tmp_path / "project", {"package.json": package}), "project", "javascript", command)


@pytest.mark.parametrize(
    "package",
    [
        '{"scripts": {"test": "npm run lint && npm run unit", "lint": "eslint .", "unit": "mocha a.js"}}',
        '{"scripts": {"test": "run-s lint test:*", "test:unit": "mocha a.js"}}',
        '{"scripts": {"test": "pnpm test:unit", "test:unit": "TZ=UTC c8 mocha a.js"}}',
        '\ufeff{"devDependencies": {"mocha": "^10", "tape": "1"}}',
        '{"scripts": {"test": "npm run test"}, "devDependencies": {"mocha": "^10"}}',
    ],
)
def test_the_framework_of_a_package(package: str, tmp_path: Path) -> None:
    assert of(tmp_path, package).runner.name == "mocha"


COMPILED = {
    '{"scripts": {"test": "tsc -p . && mocha out/*.js"}}': ("tsc -p .",),
    '{"scripts": {"pretest": "npm run build && npm run lint", "build": "run-p build:*", "build:es": "babel src -d es",'
    ' "lint": "eslint .", "test": "nyc mocha"}}': ("npm run build",),
    '{"scripts": {"test": "eslint . && npm run unit", "preunit": "npm run compile -- -p tests", "unit": "mocha",'
    ' "compile": "rimraf build && tsc"}}': ("npm run compile -- -p tests",),
    '{"scripts": {"test": "yarn build && mocha", "build": "NODE_ENV=test rollup -c"}}': ("npm run build",),
    '{"scripts": {"test": "run-s build unit", "build": "esbuild a.ts", "unit": "mocha"}}': ("esbuild a.ts",),
    '{"scripts": {"pretest": "tsc --noEmit && webpack --watch && vite", "test": "mocha", "posttest": "tsc"}}': (),
    '{"scripts": {"test": "tsc > $HOME/x && mocha && tsc"}}': (),
    '{"scripts": {"test": "mocha"}}': (),
}


@pytest.mark.parametrize("package", COMPILED)
def test_what_compiles_the_code_runs_before_it(package: str, tmp_path: Path) -> None:
    assert of(tmp_path, package).before == COMPILED[package]


def test_the_users_command_comes_first(tmp_path: Path) -> None:
    call = of(tmp_path, '{"scripts": {"test": "mocha a.js"}}', "node --test b.js")
    assert (call.runner.name, call.places) == ("node", ("b.js",))


@pytest.mark.parametrize(
    ("package", "said"),
    [
        (
            '{"scripts": {"test": "tap"}}',
            "the tests of project run under tap; of JavaScript those of mocha, jest, vitest",
        ),
        ('{"devDependencies": {"uvu": "6"}}', "run under uvu"),
        (
            '{"scripts": {"test": "make check"}}',
            "how the tests of project are run (its test script is 'make check')",
        ),
        ("[]", "nothing in package.json says how the tests of project are run"),
        ("{" * 70, "nothing in package.json says"),
    ],
)
def test_what_is_not_measured_is_named(package: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(NoTests) as caught:
        of(tmp_path, package)
    assert said in caught.value.message
    assert "--test" in (caught.value.hint or "") and "--policy" in (caught.value.hint or "")


def test_scripts_that_name_each_other_are_read_once_each(tmp_path: Path) -> None:
    """Five of them held the supervisor for more than a minute, ten for years: 200 bytes."""
    names = [f"s{number}" for number in range(60)]
    every = " ".join(names)
    scripts = {"test": f"run-s {every}"} | dict.fromkeys(names, f"run-s {every}")
    start = time.thread_time()
    with pytest.raises(NoTests, match="nothing in package"):
        of(tmp_path, json.dumps({"scripts": scripts | {"build": "tsc"}}))
    scripts["s59"] = "npm run build && mocha a.js"
    assert of(tmp_path, json.dumps({"scripts": scripts | {"build": "tsc"}})).runner.name == "mocha"
    assert time.thread_time() - start < 2
    with pytest.raises(NoTests, match="too many scripts to be followed"):
        of(tmp_path, json.dumps({"scripts": {f"s{number}": "" for number in range(300)}}))


def test_commands_that_cannot_be_measured(tmp_path: Path) -> None:
    with pytest.raises(NoTests, match="the test command of project calls none of mocha"):
        of(tmp_path, "{}", "make check")
    with pytest.raises(NoTests, match="does not call `go test`"):
        calling(tmp_path, "project", "go", "make check")
    with pytest.raises(NoTests, match="project is written in rust; only suites of Python, JavaScript and Go are"):
        calling(tmp_path, "project", "rust", None)
