"""Rows as swebench 5 and mini-swe-agent read them: any repository and any language, without a fork of either.

`patch` is the fix. `log_parser` is the later one of pytest's: the first cuts ids at a space.
"""

from collections.abc import Mapping

from selfplay.export import inside
from selfplay.export.columns import EXTRA, IMAGES, Kind, Row, as_json, extra, images, repository
from selfplay.export.evaluation import eval_script
from selfplay.export.names import test_names
from selfplay.export.pools import PoolBug

CREATED = "1970-01-01 00:00:00"
"""Of every row: a date would make two exports of one pool differ."""
COLUMNS: Mapping[str, Kind] = {
    "repo": "string",
    "instance_id": "string",
    "base_commit": "string",
    "patch": "string",
    "test_patch": "string",
    "problem_statement": "string",
    "hints_text": "string",
    "created_at": "string",
    "version": "string",
    "FAIL_TO_PASS": "string",
    "PASS_TO_PASS": "string",
    "environment_setup_commit": "string",
    **IMAGES,
    "log_parser": "string",
    "eval_type": "string",
    "eval_script": "string",
    **EXTRA,
}

NOTES = (
    "`swebench eval ./train.jsonl --split train --predictions predictions/gold.jsonl --run-id gold`, after"
    " `build_images.py`. `mini-extra swebench --subset . --split train --output solved` solves them.",
    "Without an engine: `selfplay logs RUN --predictions predictions/gold.jsonl --out logs`, then `python grade_logs.py"
    " predictions/gold.jsonl logs`, where swebench is installed, has its grader read them.",
)


def row(one: PoolBug, statement: str, ssr: str, plain: str) -> Row:
    """`statement`: the one of the two that an agent is given."""
    bug = one.bug
    return {
        "repo": repository(one),
        "instance_id": one.id,
        "base_commit": bug.commit,
        "patch": one.patch,
        "test_patch": one.test_patch,
        "problem_statement": statement,
        "hints_text": "",
        "created_at": CREATED,
        "version": str(bug.environment.get("version") or bug.revision),
        "FAIL_TO_PASS": as_json(test_names(bug.fail_to_pass)),
        "PASS_TO_PASS": as_json(test_names(bug.pass_to_pass)),
        "environment_setup_commit": bug.commit,
        **images(one),
        "log_parser": "parse_log_pytest_v2",
        "eval_type": "pass_and_fail",
        "eval_script": eval_script(one),
        **extra(one, ssr, plain),
    }


def shared_files() -> dict[str, bytes]:
    """What lies beside the table."""
    return {"grade_logs.py": inside.text("grade_swebench.py").encode()}
