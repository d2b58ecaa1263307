"""Columns of a dataset: their kinds, for the card and for Parquet, and the extra columns that every format has.

`patch` is the fix in SWE-bench and the bug in SWE-smith; three columns name the image, for three tools. Other tools
ignore our columns, which begin with `ssr_`.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from selfplay import patches
from selfplay.artifact.reading import UntrustedDataError, read_below
from selfplay.export.names import image_name, repository_name
from selfplay.export.pools import PoolBug
from selfplay.patches.changes import changes
from selfplay.patches.functions import PatchedFunction, functions
from selfplay.plain_text import decode

Kind = Literal["string", "int64", "float64", "list", "entities"]
"""`list`: of strings; `entities`: of objects with the fields of `ENTITY`."""
Row = dict[str, Any]
ENTITY: Mapping[str, Literal["string", "int64"]] = {
    "file_name": "string", "type": "string", "name": "string", "ast_type_str": "string", "start_lineno": "int64",
    "end_lineno": "int64",
}  # fmt: skip
MOST_SOURCE = 400_000
EXTRA: Mapping[str, Kind] = {
    "ssr_order": "int64",
    "ssr_parent_id": "string",
    "ssr_root_id": "string",
    "ssr_strategy": "string",
    "ssr_solve_rate": "float64",
    "ssr_attempts": "string",
    "ssr_bug_inject": "string",
    "ssr_test_weaken": "string",
    "ssr_attempt": "string",
    "ssr_test_script": "string",
    "ssr_test_parser": "string",
    "ssr_test_files": "string",
    "ssr_validation": "string",
    "ssr_flaky": "string",
    "ssr_hidden": "string",
    "ssr_gold_locations": "string",
    "ssr_seed": "int64",
    "ssr_policy": "string",
    "ssr_source": "string",
    "ssr_tree_hash": "string",
    "ssr_environment": "string",
    "ssr_environment_key": "string",
    "ssr_seconds": "float64",
    "ssr_language": "string",
    "ssr_statement": "string",
    "plain_statement": "string",
    "license": "string",
    "content_hash": "string",
}
IMAGES: Mapping[str, Kind] = {"image": "string", "image_name": "string", "docker_image": "string"}


def as_json(value: Any) -> str:
    """A value in a column of strings."""
    return json.dumps(value, sort_keys=True)


def images(one: PoolBug) -> Row:
    """One image under the three column names that tools look for."""
    return dict.fromkeys(IMAGES, image_name(one.id))


def extra(one: PoolBug, ssr: str, plain: str) -> Row:
    """Our columns, in the order of `EXTRA`. `ssr`, `plain`: the two statements."""
    bug, artifact = one.bug, one.artifact
    verdicts = [{name: verdict.get(name) for name in ("check", "passed", "reason")} for verdict in bug.verdicts]
    return {
        "ssr_order": bug.order,
        "ssr_parent_id": one.parent,
        "ssr_root_id": one.root,
        "ssr_strategy": bug.strategy,
        "ssr_solve_rate": one.solve_rate,
        "ssr_attempts": as_json(one.solved),
        "ssr_bug_inject": artifact.bug_inject,
        "ssr_test_weaken": artifact.test_weaken,
        "ssr_attempt": one.attempt,
        "ssr_test_script": artifact.test_script,
        "ssr_test_parser": artifact.test_parser,
        "ssr_test_files": as_json(artifact.test_files),
        "ssr_validation": as_json({"verdicts": verdicts, "versions": bug.versions}),
        "ssr_flaky": as_json(bug.flaky),
        "ssr_hidden": as_json(bug.hidden),
        "ssr_gold_locations": as_json(locations(one)),
        "ssr_seed": bug.seed,
        "ssr_policy": bug.policy,
        "ssr_source": bug.source,
        "ssr_tree_hash": bug.tree_hash,
        "ssr_environment": as_json(bug.environment),
        "ssr_environment_key": one.environment,
        "ssr_seconds": float(bug.thresholds.get("seconds", 90.0)),
        "ssr_language": one.language,
        "ssr_statement": ssr,
        "plain_statement": plain,
        "license": one.licence,
        "content_hash": bug.content_hash,
    }


def locations(one: PoolBug) -> dict[str, list[str]]:
    """The ground truth of localisation: the files that the bug changes, as modules and with the functions around its
    changes, as the original has them."""
    files = sorted({section.path for section in patches.parse(one.artifact.bug_inject)})
    modules = [path.removesuffix(".py").replace("/", ".") for path in files if path.endswith(".py")]
    found = sorted({f"{path}::{function.name}" for path, function in changed_functions(one)})
    return {"files": files, "modules": sorted(set(modules)), "functions": found}


def changed_functions(one: PoolBug) -> list[tuple[str, PatchedFunction]]:
    """(path, function around a change of the bug), each once, as the original has them."""
    return list(_changed(one.original, one.artifact.bug_inject))


@lru_cache(maxsize=4)  # several columns of one bug use it
def _changed(original: Path, inject: str) -> tuple[tuple[str, PatchedFunction], ...]:
    found: dict[tuple[str, PatchedFunction], None] = {}
    for section in patches.parse(inject):
        known = _functions(original, section.old_path) if section.old_path else ()
        for change in (change for hunk in section.hunks for change in changes(hunk)):
            around = next((function for function in reversed(known) if function.holds(change.start)), None)
            if around is not None:
                found[section.path, around] = None
    return tuple(found)


@lru_cache(maxsize=512)
def _functions(original: Path, path: str) -> tuple[PatchedFunction, ...]:
    try:
        return functions(path, decode(read_below(original, path, MOST_SOURCE)))
    except UntrustedDataError:
        return ()


def repository(one: PoolBug) -> str:
    """`owner/name`."""
    return repository_name(one.bug)
