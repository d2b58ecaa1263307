"""A row of R2E-Gym's form as a task. It has the repairing commit, line by line, the tests that were made of the
commit's own, with their texts, and the logs of both runs; what it has not is the code of the repository.

The original is the new commit with those tests in `r2e_tests/`. The bug is the commit taken back, without its tests;
the weakening takes back its tests and removes `r2e_tests/`, so a solver sees exactly the old commit.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from selfplay import patches
from selfplay.artifact.decoding import parse_json, typed
from selfplay.importers.r2e_commit import Commit, diff_of
from selfplay.importers.r2e_runs import FOLDER, decided, summary
from selfplay.importers.rows import DatasetRow, ImportRefused
from selfplay.importers.tasks import MOST_TESTS, TEST, ImportedTask, artifact_of, checked_commit, in_words
from selfplay.plain_text import encode
from selfplay.repository.suites.pytest_suite import PARSER, file_of, render_script

MOST_FILES = 200
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}\.py")


class R2EColumns(BaseModel):
    """The columns that are read. A real row has no name of its own."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    instance_id: str | None = Field(default=None, min_length=1, max_length=500)
    repo_name: str = Field(min_length=1, max_length=200)
    commit_hash: str
    parsed_commit_content: str
    execution_result_content: str
    expected_output_json: str
    problem_statement: str = Field(default="", max_length=900_000)


class RecordedRuns(BaseModel):
    """The tests and what they said. Without texts, the tests are files of the commit."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    test_file_names: tuple[str, ...] = Field(max_length=MOST_FILES)
    test_file_codes: tuple[str, ...] = Field(max_length=MOST_FILES)
    old_commit_res_stdout: str | None = None
    new_commit_res_stdout: str | None = None


@dataclass(frozen=True)
class Parts:
    """What a row says of its task. `code`, `shown`: the commit without its tests, and they alone, as diffs; `made`:
    the files of `r2e_tests`, path -> text."""

    code: str
    shown: str
    made: Mapping[str, str]
    fails: tuple[str, ...]
    passes: tuple[str, ...]


def r2e_task(row: DatasetRow) -> ImportedTask:
    """Raises `ImportRefused`, and what reading an artifact raises."""
    columns = typed(R2EColumns, row.values, "the row")
    commit = checked_commit(columns.commit_hash)
    parts = _parts(columns, commit)
    tests = (*parts.fails, *parts.passes)
    created = "".join(patches.reverse(patches.deletion(path, text)) for path, text in parts.made.items())
    removed = "".join(patches.deletion(path, text) for path, text in parts.made.items())
    hidden = {path for section in patches.parse(parts.shown) for path in section.paths}
    artifact = artifact_of({
        "test_script": render_script(sorted(set(map(file_of, tests)))),
        "test_files": "".join(f"{path}\n" for path in sorted({*map(file_of, tests), *parts.made, *hidden})),
        "test_parser": PARSER, "bug_inject": patches.reverse(parts.code),
        "test_weaken": patches.reverse(parts.shown) + removed or None,
    })  # fmt: skip
    return ImportedTask(
        row, "r2e", columns.instance_id or f"{columns.repo_name}__{commit[:12]}", artifact, parts.fails, parts.passes,
        _statement(columns.problem_statement) or in_words(parts.fails), {}, repo=columns.repo_name, commit=commit,
        diffs=(created,) if created else (),
    )  # fmt: skip


def _parts(columns: R2EColumns, commit: str) -> Parts:
    told = typed(Commit, _json(columns.parsed_commit_content, "parsed_commit_content"), "parsed_commit_content")
    if told.new_commit_hash != commit:
        raise ImportRefused(f"its commits are two: {commit[:12]} and {told.new_commit_hash[:64]!r}")
    sections = patches.parse(diff_of(told))
    code = patches.join(one for one in sections if not patches.is_test_file(one.path))
    if not code:
        raise ImportRefused("its commit changes no file but tests")
    if any(path.startswith(f"{FOLDER}/") for section in sections for path in section.paths):
        raise ImportRefused(f"its commit changes {FOLDER}/, where the tests of such a row are")
    runs = typed(
        RecordedRuns, _json(columns.execution_result_content, "execution_result_content"), "execution_result_content"
    )
    made = _made(runs)
    fails, passes = _tests(columns, runs, made)
    if both := {*map(file_of, (*fails, *passes))} & set(patches.touched_paths(code)):
        raise ImportRefused(f"its commit changes {min(both)!r} as code, which has tests that decide")
    shown = patches.join(one for one in sections if patches.is_test_file(one.path))
    return Parts(code, shown, made, fails, passes)


def _made(runs: RecordedRuns) -> dict[str, str]:
    """The files of `r2e_tests`, which is a package as R2E-Gym makes it."""
    if not runs.test_file_codes:
        return {}
    names = runs.test_file_names
    if len(names) != len(runs.test_file_codes):
        raise ImportRefused(f"it names {len(names)} files of tests and has the texts of {len(runs.test_file_codes)}")
    if odd := next((name for name in names if not _FILE.fullmatch(name)), None):
        raise ImportRefused(f"{odd[:100]!r} is no name of a file of tests")
    if len({name.lower() for name in names}) < len(names):
        raise ImportRefused("two of its files of tests have one name")
    return {f"{FOLDER}/{name}": text for name, text in sorted({"__init__.py": "", **_texts(runs)}.items())}


def _texts(runs: RecordedRuns) -> dict[str, str]:
    return dict(zip(runs.test_file_names, runs.test_file_codes, strict=True))


def _tests(columns: R2EColumns, runs: RecordedRuns, made: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    expected = _json(columns.expected_output_json, "expected_output_json")
    if not isinstance(expected, dict) or not all(isinstance(outcome, str) for outcome in expected.values()):
        raise ImportRefused("expected_output_json is no object of outcomes")
    old, new = summary(runs.old_commit_res_stdout, "before"), summary(runs.new_commit_res_stdout, "after")
    files = frozenset(path.removeprefix(f"{FOLDER}/") for path in made)
    fails, passes = decided(old, new, expected, files)
    tests = (*fails, *passes)
    if not fails:
        raise ImportRefused("it has no test that failed before its commit, passed after it and is expected to pass")
    if len(tests) > MOST_TESTS:
        raise ImportRefused(f"it has {len(tests)} tests; at most {MOST_TESTS} are taken")
    if odd := next((test for test in tests if not TEST.fullmatch(test)), None):
        raise ImportRefused(f"{odd[:100]!r} is not the id of a pytest test")
    if lost := next((file for file in map(file_of, tests) if file.startswith(f"{FOLDER}/") and file not in made), None):
        raise ImportRefused(f"it has tests in {lost[:200]!r} and not the text of that file")
    return fails, passes


def _json(text: str, column: str) -> Any:
    return parse_json(encode(text), column)


def _statement(text: str) -> str:
    """What stands between R2E's marks of a statement, or all of it."""
    begins, ends = text.find("[ISSUE]"), text.rfind("[/ISSUE]")
    return (text[begins + len("[ISSUE]") : ends] if 0 <= begins < ends else text).strip()
