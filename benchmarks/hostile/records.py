"""Hostile `bug.json` and hostile files of an artifact."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from benchmarks.hostile.changes import (
    diff_of,
    fields,
    folder,
    hard_link,
    instead,
    link,
    pipe,
    recorded,
    sparse,
    spliced,
    with_hash,
    written,
    zero,
)
from benchmarks.hostile.place import BUG, ESCAPE, MIB, RUNNING, Case, Place


def records() -> Iterator[Case]:
    for name, value in {
        "a path": "{program}", "a path as version": "../outside/python3.11", "options": "3.11 -c pass",
        "a second line": "3.11\n", "a number": 3.11,
    }.items():  # fmt: skip
        yield Case(f"python is {name}", recorded(python=value), BUG)
    for name, line in {
        "a URL": "pytest @ http://127.0.0.1:9/x.whl", "a file": "pytest @ file://{outside}/x.whl",
        "an option": "-r {outside}/secret", "a marker": "pytest==8.0; python_version > '3'",
        "an extra": "pytest[dev]==8.0", "a range": "pytest>=1", "two lines": "a==1\n--index-url=http://127.0.0.1:9/",
    }.items():  # fmt: skip
        yield Case(f"the lock holds {name}", recorded(lock=[line]), BUG)
    yield Case("a lock of 100,000 lines", recorded(lock=["a==1"] * 100_000), BUG)
    yield Case("a setup command", recorded(setup="touch /testbed/owned; {program}"), RUNNING, ("show-bug",))
    yield Case("hosts to reach", recorded(allow_hosts=["127.0.0.1:22"]), RUNNING, ("show-bug",))
    yield Case("a source in an image", recorded(source="image:/root"), RUNNING, ("show-bug",))
    yield Case("no version", recorded(version="1.0; touch x"), BUG)
    yield Case("no tree hash", recorded(tree_hash="--upload-pack=x"), BUG)
    strange: dict[str, Callable[[], str]] = {
        "NaN": lambda: '"seconds": NaN',
        "1e999": lambda: '"n": 1e999',
        "a number of 5,000 digits": lambda: '"n": 1' + "0" * 5000,
        "a key twice": lambda: '"id": "other"',
        "half of a character": lambda: '"n": "\\ud800"',
        "100,000 brackets": lambda: '"n": ' + "[" * 100_000 + "]" * 100_000,
        "900 brackets": lambda: '"n": ' + "[" * 900 + "]" * 900,
        "2 million lists": lambda: '"n": [' + "[]," * 2_000_000 + "0]",
        "400,000 objects": lambda: '"n": [' + '{"":0},' * 400_000 + "0]",
        "a schema of 10^30": lambda: '"schema_version": 1' + "0" * 30,
    }
    for name, text in strange.items():
        yield Case(f"bug.json with {name}", spliced(text), BUG[:2])
    shown = ("show-bug", "show-json")
    yield Case("bug.json with 240,000 lists", spliced(lambda: '"n": [' + "[]," * 240_000 + "0]"), (), shown)
    yield Case("bug.json, 15 MB of emoji", spliced(lambda: '"n": "' + "\U0001f600" * (15 * MIB // 4) + '"'), (), shown)
    tests = spliced(lambda: '"others": [' + ",".join(f'"t.py::t[{number}]"' for number in range(200_000)) + "]")
    yield Case("200,000 tests", tests, (), shown)
    for name, value in {"a path": "../../outside", "an escape": f"b{ESCAPE}", "a line end": "b\n"}.items():
        yield Case(f"an id with {name}", fields(id=value), BUG[:2])
    for name, change in {
        "a billion repeats": {"repeats": 10**9},
        "text": {"repeats": "2"},
        "a list": {"seconds": []},
        "too few": {"min_passing_tests": -1},
    }.items():
        yield Case(f"thresholds with {name}", fields(thresholds=change), RUNNING, ("show-bug",))
    yield Case("a strategy that is a path", fields(strategy="../../x"), BUG[:2])
    yield Case("no verdicts", fields(verdicts=[{"check": ESCAPE}]), BUG[:1])


def files() -> Iterator[Case]:
    kinds: dict[str, Callable[[Path, Place], None]] = {
        "a pipe": pipe, "a folder": folder, "a device": zero, "a link": link("secret"),
        "a hard link": hard_link("secret"),
    }  # fmt: skip
    for name in ("bug.json", "bug_inject.diff"):
        for kind, make in kinds.items():
            yield Case(f"{name} is {kind}", instead(name, make), BUG[:2])
        yield Case(f"{name} of 4 GB", sparse(name, 4 << 30), BUG)
    yield Case("bug.json is empty", written("bug.json", b""), BUG[:2])
    yield Case("bug.json is noise", written("bug.json", lambda dice: dice.randbytes(100_000)), BUG[:2])
    yield Case("a diff of 3 million lines", written("bug_inject.diff", lambda dice: b"+\n" * 3_000_000), BUG)
    long = written("bug_inject.diff", lambda dice: b"+" * (8 * MIB - 1) + b"\n")
    yield Case("a diff of 8 MB in a line", long, BUG[1:], BUG[:1])
    lines = with_hash("bug_inject.diff", lambda: diff_of("a.py", 99_000))
    yield Case("a diff of 99,000 lines", lines, (), ("show", "show-bug", "show-json"))
    many = with_hash("bug_inject.diff", lambda: "".join(diff_of(f"f{number}.py") for number in range(16_000)))
    yield Case("a diff of 16,000 files", many, (), ("show", "show-bug"))
    for path in ("../../outside/secret", "/etc/passwd", ".git/hooks/pre-commit", "a/../../b"):
        yield Case(f"a diff that writes {path}", with_hash("bug_inject.diff", partial(diff_of, path)), BUG[:2])
    yield Case("test files outside", written("test_files.txt", b"../../outside/secret\n"), BUG)
