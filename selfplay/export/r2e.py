"""Rows as R2E-Gym reads them. Its reward runs `run_tests.sh` in the image and wants exactly the outcomes of
`expected_output_json`, by names: what stands after the first `::` of a line, `::` becoming a dot. So each line has the
whole id behind a `::`, and no two tests of different files share a name.
"""

import json
from collections.abc import Mapping

from selfplay import patches
from selfplay.export import inside
from selfplay.export.columns import EXTRA, IMAGES, Kind, Row, as_json, extra, images, locations, repository
from selfplay.export.evaluation import bundle
from selfplay.export.names import test_name
from selfplay.export.pools import PoolBug

COLUMNS: Mapping[str, Kind] = {
    "instance_id": "string",
    "repo_name": "string",
    "commit_hash": "string",
    **IMAGES,
    "parsed_commit_content": "string",
    "execution_result_content": "string",
    "modified_files": "list",
    "modified_entity_summaries": "string",
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
)
RUN_TESTS = """#!/bin/bash
# Prints one line per test, in the form that R2E-Gym's parser reads.
for tests in /root/r2e_tests /r2e_tests /testbed/r2e_tests; do [ -e "$tests/bundle" ] && break; done
cd /testbed
python=$(command -v python3 || command -v python); work=$(mktemp -d)
"$python" -I "$tests/evaluate.py" "$tests/bundle" "$work" run
echo "=== short test summary info ==="
"$python" -I "$tests/evaluate.py" "$tests/bundle" "$work" report "$tests/wanted.json" |
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
        "modified_entity_summaries": as_json(
            [{"ast_type_str": "function", "name": name, "type": "modified"} for name in found["functions"]]
        ),
        "relevant_files": found["files"],
        "num_non_test_files": len(found["files"]),
        "num_non_test_func_methods": len(found["functions"]),
        "num_non_test_lines": lines,
        "prompt": statement,
        "problem_statement": f"[ISSUE]\n{statement}\n[/ISSUE]",
        "expected_output_json": json.dumps({name.replace("::", "."): "PASSED" for name in wanted(one)}),
        "ssr_gold_patch": one.patch,
        **extra(one, ssr, plain),
    }


def wanted(one: PoolBug) -> list[str]:
    """The tests that decide, in a fixed order."""
    return [test_name(test) for test in sorted((*one.bug.fail_to_pass, *one.bug.pass_to_pass))]


def parsed_commit(one: PoolBug) -> Row:
    """The repair in the form of R2E's `ParsedCommit`: without the contents of files, which travel in the image."""
    return {
        "file_diffs": [],
        "old_commit_hash": one.bug.commit,
        "new_commit_hash": one.bug.commit,
        "commit_message": f"repair of {one.id}",
        "commit_date": "1970-01-01T00:00:00",
        "metadata": {},
    }


def execution(one: PoolBug) -> Row:
    """What the tests said with the bug, and without it."""
    return {
        "repo_name": repository(one).partition("/")[2],
        "new_commit_hash": one.bug.commit,
        "test_file_names": list(one.artifact.test_files),
        "FAIL_TO_PASS": [test_name(test) for test in one.bug.fail_to_pass],
        "PASS_TO_PASS": [test_name(test) for test in one.bug.pass_to_pass],
    }


def files(one: PoolBug, statement: str) -> dict[str, bytes]:
    """What `build_images.py` adds to the image of this bug."""
    place = f"instances/{one.id}"
    return {
        f"{place}/testbed/run_tests.sh": RUN_TESTS.encode(),
        f"{place}/r2e_tests/evaluate.py": inside.text("evaluate.py").encode(),
        f"{place}/r2e_tests/bundle": bundle(one).encode(),
        f"{place}/r2e_tests/wanted.json": json.dumps(wanted(one)).encode(),
    }
