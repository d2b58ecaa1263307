"""Reads rows that selfplay exported: a row has the artifact, and its dataset has the original."""

import hashlib
import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from selfplay.artifact.decoding import parse_json, typed
from selfplay.artifact.files import parse_test_files
from selfplay.artifact.reading import existing_folder, refuse_second_name
from selfplay.curriculum.stored_bugs import is_tree
from selfplay.export.environments import ARCHIVE, ENVIRONMENTS
from selfplay.export.names import bug_id_of
from selfplay.importers.r2e import RecordedRuns
from selfplay.importers.r2e_runs import summary
from selfplay.importers.rows import DatasetRow, ImportRefused
from selfplay.importers.tasks import (
    ImportedTask,
    Tests,
    artifact_of,
    as_list,
    checked_environment,
    decoded,
    in_words,
    unique,
)
from selfplay.plain_text import encode

_KEY = re.compile("[0-9a-f]{16}")


class OwnColumns(BaseModel):
    """The columns of an exported row that make a task. Parent and root are names of tasks that may be in another
    dataset."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    instance_id: str = Field(min_length=1, max_length=500)
    ssr_instance_id: str | None = None
    problem_statement: str = Field(default="", max_length=900_000)
    fail_to_pass: Tests = Field(default=())
    pass_to_pass: Tests = Field(default=())
    upper_fail_to_pass: Tests = Field(default=(), alias="FAIL_TO_PASS")
    upper_pass_to_pass: Tests = Field(default=(), alias="PASS_TO_PASS")
    execution_result_content: str = "{}"
    ssr_bug_inject: str
    ssr_test_weaken: str | None = None
    ssr_attempt: str | None = None
    ssr_test_script: str
    ssr_test_parser: str
    ssr_test_files: Annotated[tuple[str, ...], BeforeValidator(as_list)]
    ssr_flaky: Tests = Field(default=())
    ssr_hidden: Tests = Field(default=())
    ssr_parent_id: str | None = None
    ssr_root_id: str | None = None
    ssr_strategy: str = "imported"
    ssr_source: str = ""
    ssr_seconds: float = Field(default=90.0, gt=0, le=90.0)
    ssr_tree_hash: str
    ssr_environment: str
    ssr_environment_key: str


def own_task(row: DatasetRow) -> ImportedTask:
    """The task of an exported row. Raises `ImportRefused`, and the errors of reading an artifact."""
    columns = typed(OwnColumns, row.values, "the row")
    if not _KEY.fullmatch(columns.ssr_environment_key) or not is_tree(columns.ssr_tree_hash):
        raise ImportRefused("its environment's name is not one of selfplay's")
    files = "".join(f"{path}\n" for path in columns.ssr_test_files)
    parse_test_files(files)
    artifact = artifact_of({
        "test_script": columns.ssr_test_script, "test_files": files, "test_parser": columns.ssr_test_parser,
        "bug_inject": columns.ssr_bug_inject, "test_weaken": columns.ssr_test_weaken,
    })  # fmt: skip
    fails, passes = _tests(columns)
    if not fails:
        raise ImportRefused("it names no failing test")
    environment = checked_environment(columns.ssr_environment)
    return ImportedTask(
        row, "selfplay", bug_id_of(columns.ssr_instance_id or columns.instance_id), artifact, fails, passes,
        _statement(columns.problem_statement) or in_words(fails), environment, repo=columns.ssr_source,
        commit=str(environment.get("commit") or ""), archive=_archive(row.beside, columns.ssr_environment_key),
        tree_hash=columns.ssr_tree_hash, attempt=columns.ssr_attempt,
        extra={
            "strategy": columns.ssr_strategy, "flaky": tuple(unique(columns.ssr_flaky)),
            "hidden": tuple(unique(columns.ssr_hidden)), "seconds": columns.ssr_seconds,
            **_lineage(columns),
        },
    )  # fmt: skip


def _tests(columns: OwnColumns) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """F2P and P2P from the columns of any format; `hf` has plain ids."""
    if columns.fail_to_pass:
        return unique(columns.fail_to_pass), unique(columns.pass_to_pass)
    fails, passes = columns.upper_fail_to_pass, columns.upper_pass_to_pass
    if not fails:
        fails, passes = _said(columns.execution_result_content)
    return unique(tuple(map(decoded, fails))), unique(tuple(map(decoded, passes)))


def _said(text: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The two lists of a row in R2E's form."""
    runs = typed(RecordedRuns, parse_json(encode(text), "execution_result_content"), "execution_result_content")
    before, after = summary(runs.old_commit_res_stdout, "before"), summary(runs.new_commit_res_stdout, "after")
    well = frozenset(before.passed)
    found = [(test.removeprefix("::"), test in well) for test in after.passed]
    return tuple(test for test, passed in found if not passed), tuple(test for test, passed in found if passed)


def _statement(text: str) -> str:
    found = re.fullmatch(r"\[ISSUE\]\n(.*)\n\[/ISSUE\]", text, re.DOTALL)
    return (found[1] if found else text).strip()


def _archive(beside: Path, key: str) -> Path:
    folder = existing_folder(beside, ENVIRONMENTS, key)
    path = (folder or beside) / ARCHIVE
    if folder is None or path.is_symlink() or not path.is_file():
        raise ImportRefused(f"{ENVIRONMENTS}/{key}/{ARCHIVE} is not beside the rows")
    refuse_second_name(path.stat(), path)
    return path


def _lineage(columns: OwnColumns) -> dict[str, Any]:
    if columns.ssr_attempt is None:
        return {}
    digest = hashlib.sha256(encode(columns.ssr_attempt)).hexdigest()
    parent, root = (bug_id_of(name) if name else None for name in (columns.ssr_parent_id, columns.ssr_root_id))
    return {
        "order": 2, "parent": parent, "root": root,
        "attempt": {"policy": "imported", "number": 0, "sha256": digest},
    }  # fmt: skip
