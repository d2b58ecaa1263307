"""Rows as R2E-Gym reads them. Its reward runs `run_tests.sh` in the image and wants exactly the outcomes of
`expected_output_json`, by names: what stands after the first `::` of a line, `::` becoming a dot. So each line has the
whole id behind a `::`, and no two tests of different files share a name.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache

from selfplay import patches
from selfplay.export import inside
from selfplay.export.columns import (
    EXTRA,
    IMAGES,
    Kind,
    Row,
    as_json,
    changed_functions,
    extra,
    images,
    locations,
    repository,
)
from selfplay.export.evaluation import bundle, wanted
from selfplay.export.names import test_names
from selfplay.export.pools import PoolBug
from selfplay.patches import FilePatch, Hunk

COLUMNS: Mapping[str, Kind] = {
    "instance_id": "string",
    "repo_name": "string",
    "commit_hash": "string",
    **IMAGES,
    "parsed_commit_content": "string",
    "execution_result_content": "string",
    "modified_files": "list",
    "modified_entity_summaries": "entities",
    "relevant_files": "list",
    "num_non_test_files": "int64",
    "num_non_test_func_methods": "int64",
    "num_non_test_lines": "int64",
    "prompt": "string",
    "problem_statement": "string",
    "expected_output_json": "string",
    "ssr_gold_patch": "string",
    **EXTRA,
}
NOTES = (
    "`build_images.py` puts `/testbed/run_tests.sh` and `/r2e_tests` into the images, where R2E-Gym's runtime looks for"
    " them; it moves both out of an agent's sight. Its `parse_log_fn` knows eleven repositories by name and refuses"
    " others: set `r2egym.agenthub.runtime.docker.parse_log_fn = lambda name: parse_log_pytest` for these.",
    "Without an engine: `selfplay logs RUN --format r2e --predictions predictions/gold.jsonl --out logs`, then `python"
    " grade_logs.py predictions/gold.jsonl logs` rewards by R2E-Gym's rule.",
)
_TYPES = {" ": "context", "+": "added", "-": "deleted", "\\": "note"}
SUMMARY = "=== short test summary info ===\n"
RUN_TESTS = """#!/bin/bash
# Prints one line per test, in the form that R2E-Gym's parser reads.
for tests in /root/r2e_tests /r2e_tests /testbed/r2e_tests; do [ -e "$tests/bundle" ] && break; done
cd /testbed
python=$(command -v python3 || command -v python); work=$(mktemp -d)
"$python" -I "$tests/evaluate.py" "$tests/bundle" "$work" run
echo "=== short test summary info ==="
"$python" -I "$tests/evaluate.py" "$tests/bundle" "$work" report |
  sed 's/^\\(PASSED\\|FAILED\\) /\\1 ::/'
"""


def row(one: PoolBug, statement: str, ssr: str, plain: str) -> Row:
    """`statement`: the one of the two that an agent is given."""
    found = locations(one)
    lines = sum(section.added + section.removed for section in patches.parse(one.patch))
    return {
        "instance_id": one.id,
        "repo_name": repository(one).partition("/")[2],
        "commit_hash": one.bug.commit,
        **images(one),
        "parsed_commit_content": as_json(parsed_commit(one)),
        "execution_result_content": as_json(execution(one)),
        "modified_files": found["files"],
        "modified_entity_summaries": entities(one),
        "relevant_files": found["files"],
        "num_non_test_files": len(found["files"]),
        "num_non_test_func_methods": len(found["functions"]),
        "num_non_test_lines": lines,
        "prompt": statement,
        "problem_statement": f"[ISSUE]\n{statement}\n[/ISSUE]",
        "expected_output_json": expected(wanted(one)),
        "ssr_gold_patch": one.patch,
        **extra(one, ssr, plain),
    }


def entities(one: PoolBug) -> list[Row]:
    """The functions around the changes of the bug."""
    return [
        {
            "file_name": path, "type": "method" if "." in function.name else "function", "name": function.name,
            "ast_type_str": "FunctionDef", "start_lineno": function.first, "end_lineno": function.last,
        }
        for path, function in changed_functions(one)
    ]  # fmt: skip


def parsed_commit(one: PoolBug) -> Row:
    """The repair in the form of R2E's `ParsedCommit`, from which its trajectories make the patch that is right. The
    contents of files travel in the image, and are empty here, as R2E's own reader of diffs leaves them."""
    return {
        "file_diffs": [_file_diff(section) for section in patches.parse(one.patch)],
        "old_commit_hash": one.bug.commit,
        "new_commit_hash": one.bug.commit,
        "commit_message": f"repair of {one.id}",
        "commit_date": "1970-01-01T00:00:00",
        "metadata": {},
    }


def _file_diff(section: FilePatch) -> Row:
    fields = [line for line in section.header if not line.startswith("index ")]
    names = {
        "minus_file": {"path": f"a/{section.old_path}" if section.old_path else "/dev/null"},
        "plus_file": {"path": f"b/{section.new_path}" if section.new_path else "/dev/null"},
    }
    binary = {"is_binary_file": True, "binary_line": "GIT binary patch"} if section.binary else {}
    return {
        "old_file_content": "",
        "new_file_content": "",
        "header": {"file": {"path": section.path}, "misc_line": "\n".join(fields) or None},
        **(names if section.hunks else {}),
        **binary,
        "hunks": [_hunk(hunk) for hunk in section.hunks],
    }


def _hunk(hunk: Hunk) -> Row:
    ranges = {
        "old_range": {"start": hunk.old_start, "length": hunk.old_count},
        "new_range": {"start": hunk.new_start, "length": hunk.new_count},
    }
    lines = [
        {"content": line[1:].lstrip() if line[0] == "\\" else line[1:], "type": _TYPES[line[0]]} for line in hunk.lines
    ]
    return {"descriptor": {**ranges, "section": hunk.section.strip()}, "line_group": {"all_lines": lines}}


def execution(one: PoolBug) -> Row:
    """R2E's `ExecutionResult`: what the tests said with the bug, and without it. Their texts are in the image, at their
    places in the tree, and not here."""
    fails, passes = test_names(one.bug.fail_to_pass), test_names(one.bug.pass_to_pass)
    passed = _lines("PASSED", passes)
    return {
        "repo_name": repository(one).partition("/")[2],
        "new_commit_hash": one.bug.commit,
        "test_file_names": list(one.artifact.test_files),
        "test_file_codes": [],
        "setup_res_code": 0,
        "setup_res_stdout": "",
        "setup_res_stderr": "",
        "new_commit_res_code": 0,
        "new_commit_res_stdout": SUMMARY + _lines("PASSED", fails) + passed,
        "old_commit_res_code": 1,
        "old_commit_res_stdout": SUMMARY + _lines("FAILED", fails) + passed,
    }


def _lines(outcome: str, names: Sequence[str]) -> str:
    return f"{outcome} ::" + f"\n{outcome} ::".join(names) + "\n" if names else ""


def expected(names: Sequence[str]) -> str:
    """R2E's names of tests with their outcome, as JSON; two tests may have one name there."""
    return "{" + ", ".join(dict.fromkeys(map(_expected, names))) + "}"


@lru_cache(maxsize=200_000)  # bugs of one repository share their tests
def _expected(name: str) -> str:
    return json.dumps(name.replace("::", ".")) + ': "PASSED"'


def evaluation(one: PoolBug) -> str:
    """What puts the files of this bug's image in their places, where there is no image, and runs the tests."""
    lines = ["mkdir -p /testbed/r2e_tests"]
    for place, text in (("run_tests.sh", RUN_TESTS), ("r2e_tests/evaluate.py", inside.text("evaluate.py")),
                        ("r2e_tests/bundle", bundle(one, decides=True))):  # fmt: skip
        packed = base64.b64encode(text.encode()).decode()
        lines.append(f"echo {packed} | base64 -d > /testbed/{place}")
    return "\n".join([*lines, "bash /testbed/run_tests.sh"]) + "\n"


def shared_files() -> dict[str, bytes]:
    """What lies beside the table."""
    return {"grade_logs.py": inside.text("grade_r2e.py").encode()}


def files(one: PoolBug, statement: str) -> dict[str, bytes]:
    """What `build_images.py` adds to the image of this bug."""
    place = f"instances/{one.id}"
    return {
        f"{place}/testbed/run_tests.sh": RUN_TESTS.encode(),
        f"{place}/r2e_tests/evaluate.py": inside.text("evaluate.py").encode(),
        f"{place}/r2e_tests/bundle": bundle(one, decides=True).encode(),
    }
