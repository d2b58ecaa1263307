"""A folder of Harbor's form for each bug, which Harbor and the adapters of several trainers read: instruction, image,
tests that write the reward, and the repair as the oracle's solution.
"""

import json
from collections.abc import Mapping

from selfplay.export import inside
from selfplay.export.columns import EXTRA, IMAGES, Kind, Row, extra, images, repository
from selfplay.export.evaluation import bundle, seconds
from selfplay.export.names import image_name, test_names
from selfplay.export.pools import PoolBug
from selfplay.plain_text import well_formed

TASKS = "tasks"
COLUMNS: Mapping[str, Kind] = {
    "instance_id": "string",
    "repo": "string",
    "task": "string",
    "problem_statement": "string",
    "patch": "string",
    "FAIL_TO_PASS": "list",
    "PASS_TO_PASS": "list",
    **IMAGES,
    **EXTRA,
}
NOTES = (
    f"`{TASKS}/` holds one folder a bug: `harbor run --path {TASKS} --agent oracle`, after `build_images.py`. The table"
    " tells what each is.",
)
TEST = """#!/bin/bash
# Puts the tests back, runs them, and writes 1 when every test that decides passes, else 0.
mkdir -p /logs/verifier
cd /testbed || exit 1
python=$(command -v python3 || command -v python); work=$(mktemp -d)
"$python" -I /tests/evaluate.py /tests/bundle "$work" run
"$python" -I /tests/evaluate.py /tests/bundle "$work" report
"$python" -I /tests/evaluate.py /tests/bundle "$work" reward > /logs/verifier/reward.txt
"""
SOLVE = """#!/bin/bash
cd /testbed && git apply --whitespace=nowarn /solution/gold.diff
"""


def row(one: PoolBug, statement: str, ssr: str, plain: str) -> Row:
    """`statement`: the one of the two that an agent is given."""
    return {
        "instance_id": one.id,
        "repo": repository(one),
        "task": f"{TASKS}/{one.id}",
        "problem_statement": statement,
        "patch": one.patch,
        "FAIL_TO_PASS": test_names(one.bug.fail_to_pass),
        "PASS_TO_PASS": test_names(one.bug.pass_to_pass),
        **images(one),
        **extra(one, ssr, plain),
    }


def files(one: PoolBug, statement: str) -> dict[str, bytes]:
    """The task's folder."""
    made = {
        "task.toml": task_toml(one),
        "instruction.md": statement + "\n",
        "environment/Dockerfile": f"FROM {image_name(one.id)}\nWORKDIR /testbed\n",
        "tests/test.sh": TEST,
        "tests/evaluate.py": inside.text("evaluate.py"),
        "tests/bundle": bundle(one, decides=True),
        "solution/solve.sh": SOLVE,
        "solution/gold.diff": one.patch,
    }
    return {f"{TASKS}/{one.id}/{name}": text.encode() for name, text in made.items()}


def toml_text(text: str) -> str:
    """A TOML string: as JSON writes it, but for letters beyond U+FFFF, which JSON writes as two, and for DEL."""
    return json.dumps(well_formed(text), ensure_ascii=False).replace("\x7f", "\\u007f")


def task_toml(one: PoolBug) -> str:
    """Its settings. Tests and agents have no network of ours to ask for: the image holds all."""
    lines = [
        'schema_version = "1.0"',
        "",
        "[metadata]",
        f"ssr_strategy = {toml_text(one.bug.strategy)}",
        f"ssr_order = {one.bug.order}",
        f"license = {toml_text(one.licence or 'none stated')}",
        "",
        "[verifier]",
        f"timeout_sec = {seconds(one):.1f}",
        "",
        "[agent]",
        "timeout_sec = 3600.0",
        "",
        "[environment]",
        "build_timeout_sec = 1800.0",
        f"docker_image = {toml_text(image_name(one.id))}",
        'workdir = "/testbed"',
    ]
    return "\n".join(lines) + "\n"
