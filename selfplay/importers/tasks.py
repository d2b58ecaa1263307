"""Reads a row as a task: its typed values and its two trees.

A task of ours is an original, a diff that breaks it, and perhaps one that hides tests. A row of SWE-bench has the
broken commit, the repair and the tests: its original is that commit with both applied, the bug is the reversed repair,
and the hidden tests are the reversed `test_patch`. A row of SWE-smith has the working commit and the bug; it hides
nothing. Rows of R2E-Gym's form are read in `r2e.py`. A row that selfplay exported has the artifact itself.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import unquote

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from selfplay import patches
from selfplay.artifact import Artifact, ArtifactError, from_texts
from selfplay.artifact.decoding import parse_json, typed
from selfplay.artifact.environment import pinned, recorded_environment
from selfplay.artifact.files import FILE_NAMES
from selfplay.artifact.reading import UntrustedDataError
from selfplay.importers.rows import DatasetRow, ImportRefused
from selfplay.patches import PatchError
from selfplay.plain_text import encode
from selfplay.repository.suites.pytest_suite import PARSER, render_script

MOST_TESTS = 50_000
TEST = re.compile(r"[^\s:][^:]*\.py::.+")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")


def as_list(value: Any) -> Any:
    """A list, or the JSON text of one. Raises `ValueError`, which pydantic reports with the column."""
    if not isinstance(value, str):
        return value
    try:
        return parse_json(encode(value), "it")
    except (UntrustedDataError, UnicodeEncodeError) as error:
        raise ValueError(str(error)) from error


Tests = Annotated[tuple[str, ...], BeforeValidator(as_list), Field(max_length=MOST_TESTS)]
Diff = Annotated[str, Field(max_length=8 << 20)]


class Columns(BaseModel):
    """The columns that are read; a dataset may have others."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    instance_id: str = Field(min_length=1, max_length=500)
    problem_statement: str = Field(default="", max_length=900_000)
    repo: str = Field(default="", max_length=500)
    base_commit: str = ""
    commit: str = ""
    version: str | None = None
    patch: Diff = ""
    test_patch: Diff = ""
    fail_to_pass: Tests = Field(default=(), alias="FAIL_TO_PASS")
    pass_to_pass: Tests = Field(default=(), alias="PASS_TO_PASS")


@dataclass(frozen=True)
class ImportedTask:
    """`form`: the row's format. `diffs`: turn the tree at `commit` of `repo` into the original; for a row of selfplay
    the original is instead the packed tree `tree_hash` in `archive`. `attempt`: the failed attempt of a second-order
    bug."""

    row: DatasetRow
    form: str
    instance: str
    artifact: Artifact
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    statement: str
    environment: Mapping[str, Any]
    repo: str = ""
    commit: str = ""
    diffs: tuple[str, ...] = ()
    archive: Path | None = None
    tree_hash: str = ""
    attempt: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def diff_names(self) -> tuple[str, ...]:
        """The names of `diffs`, in order."""
        return ("r2e_tests",) if self.form == "r2e" else ("patch", "test_patch")

    @property
    def untried(self) -> tuple[str, ...]:
        """The diffs that still must be tried on the original."""
        return self.artifact.diffs if self.form == "r2e" else ()


def task_of(row: DatasetRow, form: str = "") -> ImportedTask:
    """The task of a row; `form`: swebench or swesmith if the row does not tell. Raises `ImportRefused`."""
    if row.fault:
        raise ImportRefused(row.fault)
    try:
        if "ssr_bug_inject" in row.values:
            from selfplay.importers.selfplay_rows import own_task

            return own_task(row)
        if "parsed_commit_content" in row.values:
            from selfplay.importers.r2e import r2e_task

            return r2e_task(row)
        columns = typed(Columns, row.values, "the row")
        return _foreign(row, columns, form or _form(row.values))
    except (UntrustedDataError, ArtifactError, PatchError) as error:
        raise ImportRefused(error.message) from error
    except ValueError as error:
        raise ImportRefused(str(error).partition("\n")[0]) from error


def _form(values: Mapping[str, Any]) -> str:
    return "swebench" if "test_patch" in values or "base_commit" in values else "swesmith"


def _foreign(row: DatasetRow, columns: Columns, form: str) -> ImportedTask:
    """The task of a row in SWE-bench's or SWE-smith's form."""
    tests = (*columns.fail_to_pass, *columns.pass_to_pass)
    if not columns.fail_to_pass:
        raise ImportRefused("it names no failing test")
    if odd := next((test for test in tests if not TEST.fullmatch(test)), None):
        raise ImportRefused(f"{odd[:100]!r} is not the id of a pytest test")
    commit = checked_commit(columns.base_commit or columns.commit or _smith_commit(columns))
    if not columns.patch.strip():
        raise ImportRefused("its patch is empty")
    fixed = form == "swebench"
    inject = patches.reverse(columns.patch) if fixed else columns.patch
    weaken = patches.reverse(columns.test_patch) if columns.test_patch.strip() else None
    code = set(patches.touched_paths(inject))
    shown = {path for patch in patches.parse(columns.test_patch) for path in patch.paths} if weaken else set()
    files = tuple(sorted(({test.split("::")[0] for test in tests} | shown) - code))
    if not files:
        raise ImportRefused("its patch changes every test file")
    artifact = artifact_of({
        "test_script": render_script(sorted({test.split("::")[0] for test in tests})),
        "test_files": "".join(f"{path}\n" for path in files),
        "test_parser": PARSER, "bug_inject": inject, "test_weaken": weaken,
    })  # fmt: skip
    failing = set(columns.fail_to_pass)
    return ImportedTask(
        row, form, columns.instance_id, artifact, unique(columns.fail_to_pass),
        unique(tuple(test for test in columns.pass_to_pass if test not in failing)),
        columns.problem_statement.strip() or in_words(columns.fail_to_pass), _environment(columns),
        repo=columns.repo, commit=commit,
        diffs=tuple(diff for diff in (columns.patch, columns.test_patch) if diff.strip()) if fixed else (),
    )  # fmt: skip


def checked_commit(said: str) -> str:
    """The commit, which is a hash. Raises `ImportRefused`."""
    if not _COMMIT.fullmatch(said):
        raise ImportRefused(f"{said[:80]!r} is not a commit hash")
    return said


def _smith_commit(columns: Columns) -> str:
    """The commit in SWE-smith's names: `owner__repo.commit8`."""
    return columns.repo.rpartition(".")[2] if "." in columns.repo else ""


def _environment(columns: Columns) -> dict[str, Any]:
    """The version, if valid: rows say nothing else about their environment."""
    said = columns.version or ""
    return {"version": said} if pinned(f"x=={said}") else {}


def artifact_of(texts: Mapping[str, str | None]) -> Artifact:
    """An artifact from field -> text, checked like one in a folder. Raises `ArtifactError`."""
    made = {FILE_NAMES[field]: encode(text) for field, text in texts.items() if text is not None}
    found = from_texts(made, weakened=texts.get("test_weaken") is not None)
    for diff in found.diffs:
        patches.parse(diff)
    return found


def unique(tests: tuple[str, ...]) -> tuple[str, ...]:
    """Each once, in order."""
    return tuple(dict.fromkeys(tests))


def decoded(test: str) -> str:
    """The id behind `export.names.test_name`."""
    return unquote(test, errors="surrogateescape") if re.search("%[0-9A-F]{2}", test) else test


def in_words(tests: tuple[str, ...]) -> str:
    """A statement for a bug of which only the tests are known."""
    shown = "\n".join(f"- {test}" for test in tests[:20])
    return f"These tests should pass and fail:\n\n{shown}"


def checked_environment(text: str) -> dict[str, Any]:
    """The environment's record in a row of selfplay. Raises `UntrustedDataError`."""
    value = parse_json(encode(text), "the environment")
    if not isinstance(value, dict):
        raise UntrustedDataError("the environment is not an object")
    recorded_environment(value)
    return value
