"""Knows how Python tests are run and reported: it renders scripts and reads their records. No other module does.

Scripts are portable: bash, relative paths, `python` on PATH, started in the repository root. They contain the small
program that runs pytest and records each test (`inside/selfplay_tests.py`), so an artifact needs no file of ours.
Coverage, process pools and shuffling are switched off: a run measures outcomes, and must be repeatable.
"""

import contextlib
import json
import re
import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from selfplay.repository.errors import BadStream
from selfplay.repository.inside import text
from selfplay.repository.prepared import Suite
from selfplay.repository.suites.script_frame import chosen, framed, heredoc
from selfplay.untrusted_json import AnswerError, answer

PARSER = text("test_parser.py")
"""`test_parser.py`: the raw log of a rendered script on stdin -> `{test id: "passed" | "failed"}` on stdout."""
TEST_SECONDS = 10.0
"""Seconds after which one test fails."""
MAX_TIMEOUTS = 3
"""This many such tests stop a run: then the change clearly makes everything hang."""
COVERAGE_TOOLS = "/tools/coverage"
FALLBACK_PATTERNS = "python_files=test*.py *_test.py *_tests.py tests.py"
ATTEMPTS = ((), ("-o", "addopts="), ("-o", FALLBACK_PATTERNS), ("-o", "addopts=", "-o", FALLBACK_PATTERNS))
MOST_RECORDS, MOST_RECORD, MOST_FIELDS, MOST_WORD = 200_000, 1 << 20, 100, 20
"""Limits: records of a log; bytes and values of one record; characters of its outcome."""
MOST_SECONDS = 1e6
MOST_COVERAGE, MOST_COVERED = 64 << 20, 4_000_000
"""Limits of a coverage map, in bytes and values; nearly all are small integers."""
MOST_MESSAGE = 300
_ADDRESS = re.compile(r"0x[0-9a-fA-F]{6,}")
_RECORD = re.compile(rb"SELFPLAY (\{[^\n]*)")
_NUMBER = re.compile(r"[0-9]{1,9}")
_END = re.compile(rb"SELFPLAY-END exit=(\d{1,3})")
_OPTIONS = ("--continue-on-collection-errors", "--maxfail=0", "-q", "--no-header", "--tb=native", "--color=no")


@dataclass(frozen=True, slots=True)
class TestRecord:
    """One test of one run. `outcome`: passed, failed, skipped, xfailed, xpassed; `seconds`: None if it did not end.

    A file that cannot be collected has one record, with its path as `id` and the `kind` "collect"; otherwise `kind` is
    "test", or "doctest" (known only when tests are collected, not run).
    """

    id: str
    outcome: str
    seconds: float | None = None
    kind: str = "test"


def file_of(test_id: str) -> str:
    """The test file of an id, relative to the repository root."""
    return test_id.split("::")[0]


def render_script(
    files: Collection[str],
    excluded: Collection[str] = (),
    *,
    only: Collection[str] = (),
    options: Sequence[str] = (),
    command: str | None = None,
    test_seconds: float = TEST_SECONDS,
    max_timeouts: int = MAX_TIMEOUTS,
    patience: float = 1.0,
) -> str:
    """`test_script.sh`: runs the tests of `files` without the `excluded` ids (with `only`: just those ids). A test
    fails after `test_seconds`, or after `patience` times as long if it uses less processor time than that.

    Missing files are skipped; with empty `files`, pytest's own discovery decides. `options` go to pytest. `command`
    replaces the call of pytest by the user's own, with the recording plugin added through the environment. If a helper
    of the script is killed, the script exits with 137: without the helper's file or records the run would report wrong
    outcomes.
    """
    selection = {
        "excluded": sorted(excluded),
        "only": sorted(only),
        "files": sorted(files) if command else [],
        "test_seconds": test_seconds,
        "max_timeouts": max_timeouts,
        "patience": patience,
    }
    return framed(
        [
            'export SELFPLAY_DIR="$work" PYTHONHASHSEED=0',
            *heredoc("selfplay_tests.py", text("selfplay_tests.py")),
            *heredoc("selection.json", json.dumps(selection, indent=0)),
            *(_user_command(command) if command else _pytest_call(sorted(files), options)),
        ]
    )


def script_for(suite: Suite, files: Collection[str] | None = None, *, only: Collection[str] = ()) -> str:
    """`test_script.sh` for a measured suite, or for some of its files or ids."""
    picked, excluded = picked_of(suite, files, only)
    return render_script(
        picked, excluded, only=only, options=suite.options, command=suite.command, test_seconds=suite.test_seconds
    )


def picked_of(suite: Suite, files: Collection[str] | None, only: Collection[str]) -> tuple[list[str], list[str]]:
    """The files that a script of the suite runs (all, `files`, or the files of `only`), and their excluded ids."""
    picked = {file_of(test) for test in only} if only else set(suite.files if files is None else files)
    return sorted(picked), [test for test in suite.excluded if file_of(test) in picked]


def _pytest_call(files: Sequence[str], options: Sequence[str]) -> list[str]:
    common = [*_OPTIONS, *options]
    words = [shlex.quote(option) for option in common]
    words += ['--rootdir="$PWD"', '-o cache_dir="$work/cache"']
    if not files:
        return [f'python "$work/selfplay_tests.py" {" ".join(words)}']
    return [
        *chosen(files),
        f'python "$work/selfplay_tests.py" {" ".join(words)} "${{chosen[@]}}"',
    ]


def _user_command(command: str) -> list[str]:
    off = [f"-p no:{name}" for name in ("pytest_cov", "xdist", "randomly", "random_order")]
    options = " ".join([*off, "--continue-on-collection-errors", "--maxfail=0"])
    return [
        'export SELFPLAY_PLUGIN=1 PYTEST_PLUGINS=selfplay_tests PYTHONPATH="$work${PYTHONPATH:+:$PYTHONPATH}"',
        f"export PYTEST_ADDOPTS=\"{options} --rootdir='$PWD' -o cache_dir='$work/cache'\"",
        "(",
        command,
        ")",
    ]


def parse_records(log: bytes) -> list[TestRecord]:
    """The records of a log, the last one of each id; other lines are skipped. Raises `BadStream` for more than
    `MOST_RECORDS` lines that look like records."""
    if sum(1 for _ in _RECORD.finditer(log)) > MOST_RECORDS:  # counted before any is parsed
        raise BadStream(f"the log of the tests holds more than {MOST_RECORDS} records")
    records: dict[str, TestRecord] = {}
    for found in _RECORD.finditer(log):
        record = _record(found[1])
        if record:
            records[record.id] = record
    return list(records.values())


def _record(line: bytes) -> TestRecord | None:
    """Parse one record; None if the line is not a record, since the repository's code may write anything."""
    value = _json(line)
    known = value.get("id") if value else None
    if not value or not isinstance(known, str) or "\0" in known:
        return None
    seconds = value.get("seconds")
    return TestRecord(
        known,
        str(value.get("outcome", "failed"))[:MOST_WORD],
        min(max(float(seconds), 0.0), MOST_SECONDS) if isinstance(seconds, int | float) else None,
        str(value.get("phase") or value.get("kind") or "test")[:MOST_WORD],
    )


def _json(line: bytes) -> dict[str, Any] | None:
    if len(line) > MOST_RECORD:
        return None
    text = line.decode("utf-8", "replace").strip().encode()
    for attempt in (text, text + b"}"):
        with contextlib.suppress(AnswerError):
            return answer(dict[str, Any], attempt, values=MOST_FIELDS)
    return None


def failure_messages(log: bytes, tests: Collection[str]) -> dict[str, str]:
    """Test -> its failure message, for those of `tests` that pytest's closing lines name. For users: addresses are
    removed, so that two runs give the same text."""
    wanted, said = set(tests), dict[str, str]()
    for line in log.splitlines():
        if line.startswith((b"FAILED ", b"ERROR ")):
            test, mark, message = line.decode("utf-8", "replace").partition(" ")[2].partition(" - ")
            if mark and test in wanted:
                said[test] = _ADDRESS.sub("0x...", message.strip())[:MOST_MESSAGE]
    return said


def finished(log: bytes) -> int | None:
    """pytest's exit status; None if the script was killed before its end."""
    for line in reversed(log.rsplit(b"\n", 4)[1:]):
        if found := _END.fullmatch(line):
            return int(found[1])
    return None


@dataclass(frozen=True)
class _Coverage:
    """The output of a traced run."""

    tests: list[str]
    sets: list[list[int]]
    files: dict[str, dict[str, int]]


@dataclass(frozen=True)
class CoverageMap:
    """The tests that execute each line. `lines`: file -> line -> indexes into `tests`; equal sets are one object."""

    tests: tuple[str, ...]
    lines: dict[str, dict[int, frozenset[int]]]


def render_coverage(
    files: Collection[str], excluded: Collection[str] = (), *, output: str, options: Sequence[str] = ()
) -> str:
    """A script like `render_script`'s that also traces, and writes the coverage map to `output`, for
    `parse_coverage`."""
    script = render_script(files, excluded, options=options, test_seconds=10 * TEST_SECONDS)
    setting = f"export SELFPLAY_COVERAGE={COVERAGE_TOOLS} SELFPLAY_COVERAGE_OUT={shlex.quote(output)}"
    return script.replace("set -u\n", f"set -u\n{setting}\n", 1)


def parse_coverage(data: bytes) -> CoverageMap:
    """Parse the map that a traced run wrote. Raises `ValueError` for anything else."""
    try:
        value = answer(_Coverage, data, most=MOST_COVERAGE, values=MOST_COVERED)
        sets = [frozenset(members) for members in value.sets]
        if any(number not in range(len(value.tests)) for members in sets for number in members):
            raise AnswerError(f"it numbers tests beyond its {len(value.tests)}")
        lines = {
            file: {_line(line): sets[number] for line, number in covered.items()}
            for file, covered in value.files.items()
        }
        return CoverageMap(tuple(value.tests), lines)
    except (IndexError, AnswerError) as error:
        raise ValueError(f"not a coverage map: {error}") from error


def _line(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise AnswerError(f"{text[:20]!r} is not a line number")
    return int(text)
