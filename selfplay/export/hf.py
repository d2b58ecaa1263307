"""Rows for `datasets`: lists are lists, and there are no columns for another tool's grader."""

from collections.abc import Mapping

from selfplay.export.columns import EXTRA, Kind, Row, extra, images, repository
from selfplay.export.pools import PoolBug

COLUMNS: Mapping[str, Kind] = {
    "instance_id": "string",
    "repo": "string",
    "problem_statement": "string",
    "patch": "string",
    "test_patch": "string",
    "fail_to_pass": "list",
    "pass_to_pass": "list",
    "image": "string",
    **EXTRA,
}

NOTES = ("`datasets.load_dataset(path)` opens this folder with the types of the columns.",)


def row(one: PoolBug, statement: str, ssr: str, plain: str) -> Row:
    """`statement`: the one of the two that an agent is given."""
    return {
        "instance_id": one.id,
        "repo": repository(one),
        "problem_statement": statement,
        "patch": one.patch,
        "test_patch": one.test_patch,
        "fail_to_pass": list(one.bug.fail_to_pass),
        "pass_to_pass": list(one.bug.pass_to_pass),
        "image": images(one)["image"],
        **extra(one, ssr, plain),
    }
