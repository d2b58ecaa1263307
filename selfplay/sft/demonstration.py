"""The messages by which a verified bug is made in the staged injector, and repaired: short enough for a small model to
imitate.

A script's own episode is too long for that: it surveys the whole repository and writes long programs. Here the bug is
known, and only the necessary steps are shown. Injector: run the tests, read the place, edit it, see what fails, edit
those tests. Solver: see a test fail, read the place, edit it, see the test pass, submit. Not in the paper, which trains
a model that needs no cold start.
"""

import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePosixPath

from selfplay import patches
from selfplay.agent import call_format
from selfplay.agent.actions import Call
from selfplay.agent.toolset import Toolset
from selfplay.artifact import Artifact
from selfplay.patches import FilePatch, Hunk
from selfplay.repository import Suite
from selfplay.roles.injector.task import SUBMISSION
from selfplay.sandbox import WORKDIR
from selfplay.sft.reproduction import Reproduction

AROUND = 12
"""Lines shown before and after a place."""
DEFINED = re.compile(r"\s*(?:async )?def (\w+)\(")
LENGTHS = (10, 20, 40)
"""How many lines of a function are shown."""
MOST_CONTEXT = 40
"""The most lines of context that may be added to make an edit's old text unique."""
Original = Callable[[str], str | None]
Said = tuple[str, Call]
"""A message: a thought, and the call after it."""
FAREWELL = "I have submitted, and there is nothing to improve."
"""The last message of an episode: a model must learn to stop."""

PARSER = r"""import json, re, sys

outcomes = {}
for word, test in re.findall(r"^(PASSED|FAILED|ERROR) (.*\S)", sys.stdin.read(), re.M):
    passed = word == "PASSED"
    outcomes[test if passed else test.partition(" - ")[0]] = "passed" if passed else "failed"
for test in LEFT_OUT:
    outcomes.pop(test, None)
print(json.dumps(outcomes))
"""
"""Reads the summary of `pytest -rA`; `LEFT_OUT`: tests to ignore (a test file that cannot be collected has a line,
too). Short, like every demonstration: at temperature 1 a small model must get each token right."""
_RUN = f"bash {SUBMISSION}/test_script.sh 2>&1 | python3 {SUBMISSION}/test_parser.py"
_FAILING = 'grep -o \'"[^"]*": "failed"\' | head -20'
_DONE = "That is done.", Call("submit", {"folder": "."})


class Undemonstrable(Exception):
    """Why a bug cannot be demonstrated with edits."""


def demonstration(
    suite: Suite, artifact: Artifact, original: Original, toolset: Toolset
) -> tuple[tuple[str, ...], ...]:
    """The messages of the three stages: discover, plant, weaken. `original`: a file's text, or None; `toolset`: the
    role's, in which the calls are written.

    Raises `Undemonstrable` for a suite that pytest does not run, for changes that edits cannot express, and for calls
    that the toolset cannot write."""
    if suite.command:
        raise Undemonstrable("its tests are run by the user's command")
    if suite.runner != "pytest":
        raise Undemonstrable(f"its tests are run by {suite.runner}; only pytest is supported")
    look = f"{_RUN} | {_FAILING}"
    plant = (*_edits(artifact.bug_inject, original, "the code"), _bash("Which tests see it?", look))
    weaken = (*_edits(artifact.weakening, original, "the tests"), _bash("Does one still fail?", look))
    stages = (_discover(suite), (*plant, _DONE), (*weaken, _DONE))
    return tuple(_written(stage, toolset) for stage in stages)


def repair(bug_inject: str, broken: Original, toolset: Toolset, seen: Reproduction | None = None) -> tuple[str, ...]:
    """The messages of a solver that undoes the bug. `broken`: a file's text in its world; `seen`: the test to run
    before and after; None for none. Raises `Undemonstrable` as `demonstration` does."""
    sections = patches.parse(patches.reverse(bug_inject))
    (look, *first), *others = ([*_found(section, broken)] for section in sections)
    before, after = list[Said](), list[Said]()
    if seen:
        before = [_bash("I put one of the tests back.", seen.restore)] if seen.restore else []
        before += [_bash("It should fail now.", seen.run)]
        after = [_bash("It should pass now.", seen.run)]
    edits = [*first, *(said for part in others for said in part)]
    return (*_written((look, *before, *edits, *after, _DONE), toolset), FAREWELL)


def _found(section: FilePatch, broken: Original) -> Iterator[Said]:
    """Messages that find a file, read it and change it. It is found by the function that is read first, which the tests
    use, or in a list of all files with its suffix."""
    edits = [*_edited(section, broken, "the code")]
    named = _first_function(section, broken)
    kind = shlex.quote("*" + PurePosixPath(section.path).suffix)
    listed = f"git ls-files {kind} | grep -v test | head -40"
    yield _bash("I look where it is.", f"git grep -n {_defining(named)} | head -20" if named else listed)
    yield from edits


def _first_function(section: FilePatch, broken: Original) -> str:
    """The name of the function that is read first; empty if none is."""
    lines = (broken(section.path) or "").split("\n") if section.kind == "modified" else []
    if not lines or not section.hunks:
        return ""
    start, old, _ = _replacement(lines, section.hunks[0], 0, section.path)
    return _function_of(lines, _first_written(lines, start, start + len(old)))[1]


def _discover(suite: Suite) -> Iterator[Said]:
    options = " ".join(map(shlex.quote, ["-p", "no:cacheprovider", *suite.options]))
    tests = " ".join(map(shlex.quote, suite.files))
    left_out = "".join(f" \\\n  --deselect {shlex.quote(test)}" for test in suite.excluded)
    left_out += " --continue-on-collection-errors" if left_out else ""
    whole = f"python3 -m pytest -q -rA --tb=no --color=no {options}{left_out} \\\n  {tests}\n"
    files = {
        "test_script.sh": f"#!/bin/bash\ncd {WORKDIR}\n{whole}",
        "test_parser.py": parser(suite.excluded),
        "test_files.txt": "".join(f"{path}\n" for path in suite.files),
    }
    yield _bash("I look for the tests.", "git ls-files | grep -i 'test.*py$' | head -40")  # a repair begins otherwise
    for name, content in files.items():
        yield ("", Call("create", {"path": f"{SUBMISSION}/{name}", "content": content}))
    yield _bash("I try them out.", f"{_RUN} | tail -c 200")
    yield ("They work.", Call("submit", {"paths": [f"{SUBMISSION}/{name}" for name in files]}))


def parser(left_out: Sequence[str]) -> str:
    """The parser of a script that runs pytest; it leaves out the tests `left_out`."""
    if not left_out:
        return PARSER.replace("for test in LEFT_OUT:\n    outcomes.pop(test, None)\n", "")
    return PARSER.replace("\noutcomes = {}", f"\nLEFT_OUT = {list(left_out)!r}\noutcomes = {{}}", 1)


def _edits(diff: str, original: Original, what: str) -> Iterator[Said]:
    """Messages that read and change each place that `diff` changes."""
    for section in patches.parse(diff):
        yield from _edited(section, original, what)


def _edited(section: FilePatch, original: Original, what: str) -> Iterator[Said]:
    path = section.path
    if section.kind == "deleted":
        yield _bash(f"`{path}` goes.", f"git rm -q -- {shlex.quote(path)}")
    elif any(line.startswith("\\") for hunk in section.hunks for line in hunk.lines):
        raise Undemonstrable(f"{path} does not end with a newline")
    elif section.kind == "added" and not section.binary and section.new_mode == "100644":
        content = "".join(f"{line}\n" for line in section.added_lines)
        yield (f"`{path}` is new.", Call("create", {"path": path, "content": content}))
    elif section.kind == "modified" and not section.binary:
        yield from _changes(section, original(path), what)
    else:
        raise Undemonstrable(f"{path} is not changed by edits")


def _changes(section: FilePatch, text: str | None, what: str) -> Iterator[Said]:
    if text is None:
        raise Undemonstrable(f"the original of {section.path} cannot be read")
    if not text:
        raise Undemonstrable(f"{section.path} is empty, and an edit needs something to replace")
    lines, moved = text.split("\n"), 0
    for hunk in section.hunks:
        start, old, new = _replacement(lines, hunk, moved, section.path)
        for command in _reading(lines, start, start + len(old)):
            yield _bash(f"I read {what} in `{section.path}`.", f"{command} -- {shlex.quote(section.path)}")
        yield ("", Call("edit", {"path": section.path, "old": "\n".join(old), "new": "\n".join(new)}))
        lines[start : start + len(old)] = new
        moved += hunk.new_count - hunk.old_count


def _reading(lines: Sequence[str], start: int, end: int) -> Iterator[str]:
    """The commands that show these lines (from 0), by what a model can know: the name of their function, which the
    tests use; in a long function by line numbers, after the function's own was shown; else by line numbers alone."""
    start = _first_written(lines, start, end)
    at, name = _function_of(lines, start)
    if name:
        if at + LENGTHS[-1] >= end:
            yield f"grep -A {next(n for n in LENGTHS if at + n >= end)} {_defining(name)}"
            return
        yield f"grep -n {_defining(name)}"
    yield f"sed -n '{max(1, start + 1 - AROUND)},{end + AROUND}p'"


def _first_written(lines: Sequence[str], start: int, end: int) -> int:
    """The first of these lines (from 0) that is not blank."""
    return next((at for at in range(start, end) if lines[at].strip()), start)


def _function_of(lines: Sequence[str], start: int) -> tuple[int, str]:
    """(line, name) of the function that this line (from 0) belongs to; the name is empty if it is none."""
    above = ((at, found[1]) for at in range(min(start, len(lines) - 1), -1, -1) if (found := DEFINED.match(lines[at])))
    return next(above, (0, ""))


def _defining(name: str) -> str:
    return shlex.quote(f"def {name}(")


def _replacement(lines: Sequence[str], hunk: Hunk, moved: int, path: str) -> tuple[int, list[str], list[str]]:
    """(index, old lines, new lines) of a hunk, with enough context to make the old lines unique."""
    body = [line or " " for line in hunk.lines]  # some tools write an empty context line like this
    old, new = ([line[1:] for line in body if line[0] in marks] for marks in (" -", " +"))
    head = next(n for n, line in enumerate(body) if line[0] != " ")
    tail = next(n for n, line in enumerate(reversed(body)) if line[0] != " ")
    start = hunk.old_start + moved - (hunk.old_count > 0)
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    start += head
    if list(lines[start : start + len(old)]) != old:
        raise Undemonstrable(f"the diff of {path} does not fit the original")
    text = "\n".join(lines)
    for extra in range(0 if old and new else 1, MOST_CONTEXT):  # what is empty has no lines without context
        before = list(lines[max(0, start - extra) : start])
        after = list(lines[start + len(old) : start + len(old) + extra])
        shown = [*before, *old, *after]
        if text.count("\n".join(shown)) == 1:
            return start - len(before), shown, [*before, *new, *after]
    raise Undemonstrable(f"a change of {path} has no unique place")


def _bash(thought: str, command: str) -> Said:
    return thought, Call("bash", {"command": command})


def _written(said: Iterable[Said], toolset: Toolset) -> tuple[str, ...]:
    """The messages, each with one call. Raises `Undemonstrable` if the toolset cannot write one."""
    return tuple(_message(thought, call, toolset) for thought, call in said)


def _message(thought: str, call: Call, toolset: Toolset) -> str:
    try:
        message = f"{thought}\n\n{call_format.write(call, toolset)}".strip()
    except call_format.CannotFormatCall as error:
        raise Undemonstrable(str(error)) from error
    if not isinstance(call_format.parse(message, toolset), Call):  # a file name in the thought may look like a tag
        raise Undemonstrable(f"{thought!r} hides the call after it")
    return message
