"""Finds the framework that runs a repository's tests, and its call: in the repository's settings, or in the user's
command."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from selfplay.plain_text import printable
from selfplay.repository.errors import NoTests
from selfplay.repository.package_json import read_package
from selfplay.repository.suites.runners.command_line import found_in, segments
from selfplay.repository.suites.runners.compiling import Scripts, named
from selfplay.repository.suites.runners.go import GO
from selfplay.repository.suites.runners.javascript import AVA, JEST, MOCHA, VITEST
from selfplay.repository.suites.runners.runner import RunnerCall

OTHERS = (
    "tap", "tape", "uvu", "jasmine", "karma", "lab", "@hapi/lab", "qunit", "cypress", "playwright", "bun",
    "react-scripts", "borp", "web-test-runner", "@japa/runner",
)  # fmt: skip
"""Known frameworks whose tests are not measured: named in the error."""
MEASURED = "mocha, jest, vitest, ava and `node --test`"
ANOTHER = "A model injector (--policy) needs no measured suite, and can still work on it."


def calling(tree: Path, source: str, language: str, command: str | None) -> RunnerCall:
    """The call of a repository's tests. `command`: the user's. Raises `NoTests` if its language or framework is not
    measured, or cannot be found out."""
    if language == "go":
        return _go(source, command)
    if language != "javascript":
        raise NoTests(
            f"{source} is written in {language}; only suites of Python, JavaScript and Go are measured", ANOTHER
        )
    return _javascript(read_package(tree), source, command)


def _go(source: str, command: str | None) -> RunnerCall:
    for words in segments(command or "go test ./..."):
        if call := found_in(words, GO.name):
            return call
    raise NoTests(
        f"the test command of {source} does not call `go test`", "Give --test 'go test [OPTIONS] [PACKAGES]'."
    )


def _javascript(package: Mapping[str, Any], source: str, command: str | None) -> RunnerCall:
    scripts = Scripts(_texts(package, "scripts"))
    if scripts.too_many:
        raise NoTests(f"package.json of {source} has too many scripts to be followed", ANOTHER)
    if command is not None:
        if call := _followed(command, scripts, set()):
            return call
        raise NoTests(f"the test command of {source} calls none of {MEASURED}", "Only their reports are read.")
    for name in ("test", *sorted(name for name in scripts.texts if name.startswith(("test:", "test-", "unit")))):
        if call := _followed(scripts.text(name), scripts, {name}, scripts.all_compiling(f"pre{name}")):
            return call
    needed = {**_texts(package, "dependencies"), **_texts(package, "devDependencies")}
    for runner in (VITEST, JEST, MOCHA, AVA):
        if runner.name in needed:
            return RunnerCall(runner)
    raise NoTests(_why_none(source, scripts.text("test"), needed), f"Name one of {MEASURED} with --test. {ANOTHER}")


def _why_none(source: str, script: str, needed: Mapping[str, str]) -> str:
    words = {word.rpartition("/")[2] for segment in segments(script) for word in segment}
    other = next((name for name in OTHERS if name in words or name in needed), "")
    if other:
        return f"the tests of {source} run under {other}; of JavaScript those of {MEASURED} are measured"
    said = f" (its test script is {printable(script)[:200]!r})" if script else ""
    return f"nothing in package.json says how the tests of {source} are run{said}"


def _followed(command: str, scripts: Scripts, followed: set[str], before: tuple[str, ...] = ()) -> RunnerCall | None:
    """The first call of a measured framework in a command, or in a script that it runs and that is not among those
    `followed`. `before`: the compiling commands up to there."""
    for words in segments(command):
        if call := found_in(words):
            return replace(call, before=before if call.runner.language == "javascript" else ())
        earlier = before
        for name in dict.fromkeys(named(words)):
            earlier += scripts.all_compiling(f"pre{name}")
            if name not in followed:
                followed.add(name)
                if call := _followed(scripts.text(name), scripts, followed, earlier):
                    return call
            earlier += scripts.all_compiling(name)
        before += scripts.compiling(words)
    return None


def _texts(package: Mapping[str, Any], name: str) -> dict[str, str]:
    values = package.get(name)
    return {key: text for key, text in values.items() if isinstance(text, str)} if isinstance(values, dict) else {}
