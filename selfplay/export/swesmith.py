"""Rows as SWE-smith 0.0.9 reads them: `patch` is the bug, the lists are lists, and the fix is in no column of theirs.

Its evaluation wants a registered profile of the repository and a git remote with a branch of two commits for each bug:
the bug, then the removal of the tests that show it. Both are made from the rows by `swesmith_profiles.py`, which lies
beside them; the local remote needs `git`, not the network.
"""

import hashlib
from collections.abc import Mapping

from selfplay import patches
from selfplay.export import inside
from selfplay.export.columns import EXTRA, IMAGES, Kind, Row, extra, images, repository
from selfplay.export.evaluation import END, START, commands
from selfplay.export.names import test_names
from selfplay.export.pools import PoolBug

COLUMNS: Mapping[str, Kind] = {
    "instance_id": "string",
    "repo": "string",
    "patch": "string",
    "FAIL_TO_PASS": "list",
    "PASS_TO_PASS": "list",
    "problem_statement": "string",
    **IMAGES,
    "ssr_instance_id": "string",
    "ssr_gold_patch": "string",
    "ssr_run_tests": "string",
    **EXTRA,
}
NOTES = (
    "`patch` is the bug, as SWE-smith has it; the repair is `ssr_gold_patch`. `python swesmith_profiles.py images`"
    " builds the image of every repository, with a branch of two commits for each bug, and `python swesmith_profiles.py"
    " eval --dataset_path train.jsonl --predictions_path predictions/gold.jsonl --run_id gold` is `python -m"
    " swesmith.harness.eval` with the profiles registered, as `import swesmith_profiles` does. `... remotes` makes"
    " local git remotes with these branches, `... table` the JSON lines that the evaluation reads, of Parquet.",
    "Without an engine: `selfplay logs RUN --format swesmith --predictions predictions/gold.jsonl --out logs`, then"
    " `python grade_logs.py predictions/gold.jsonl logs`, where swesmith is installed, has its grader read them.",
)


def repository_key(one: PoolBug) -> str:
    """`owner__name.tree8`, as a profile calls its repository: theirs ends in the commit, of which imported tasks may
    have several originals, each with another row's repair."""
    return f"{repository(one).replace('/', '__')}.{one.bug.tree_hash[:8]}"


def smith_id(one: PoolBug) -> str:
    """`owner__name.tree8.strategy__hash8`; what follows the last dot is the bug's own."""
    own = hashlib.sha256(one.id.encode()).hexdigest()[:8]
    return f"{repository_key(one)}.{one.bug.strategy}__{own}"


def row(one: PoolBug, statement: str, ssr: str, plain: str) -> Row:
    """`statement`: the one of the two that an agent is given."""
    return {
        "instance_id": smith_id(one),
        "repo": f"swesmith/{repository_key(one)}",
        "patch": patches.reverse(one.patch) if one.attempt else one.artifact.bug_inject,
        "FAIL_TO_PASS": test_names(one.bug.fail_to_pass),
        "PASS_TO_PASS": test_names(one.bug.pass_to_pass),
        "problem_statement": statement,
        **images(one),
        "ssr_instance_id": one.id,
        "ssr_gold_patch": one.patch,
        "ssr_run_tests": run_tests(one),
        **extra(one, ssr, plain),
    }


def evaluation(one: PoolBug) -> str:
    """What SWE-smith's `run_patch_in_container` runs."""
    lines = ["#!/bin/bash", "set -uxo pipefail", "cd /testbed", f": '{START}'", run_tests(one), f": '{END}'"]
    return "\n".join(lines) + "\n"


def run_tests(one: PoolBug) -> str:
    """The test command that the profile gives SWE-smith for a bug."""
    first, last = commands(one)
    return "\n".join(["{", *first, "set -x", "} >/tmp/selfplay-log 2>&1", last])  # traced: its markers are read so


def shared_files() -> dict[str, bytes]:
    """What lies beside the table."""
    names = {"swesmith_profiles.py": "swesmith_profiles.py", "grade_logs.py": "grade_swesmith.py"}
    return {name: inside.text(program).encode() for name, program in names.items()}
