"""The script that evaluates a patch without this package: it restores the oracle's tests, runs the artifact's test
script and parser, and prints `PASSED <id>` or `FAILED <id>`, so that graders made for pytest read any language.

It defends against patches whose files steer the run (`inside/evaluate.py`). It is weaker than `selfplay grade`, which
also checks behaviour: manipulation inside a test process is not seen here.
"""

import base64
import json
import zlib

from selfplay.export import inside
from selfplay.export.names import other_names, test_names
from selfplay.export.pools import PoolBug

START, END = ">>>>> Start Test Output", ">>>>> End Test Output"
WIDTH = 120
LEVEL = 4
"""The compression level: output is 2 % larger than at zlib's default, and twice as fast."""


def seconds(one: PoolBug) -> float:
    """The time limit of a patch's evaluation in seconds."""
    return 2 * float(one.bug.thresholds.get("seconds", 90.0)) + 60


def wanted(one: PoolBug) -> list[str]:
    """The deciding tests, in a fixed order."""
    return test_names(sorted((*one.bug.fail_to_pass, *one.bug.pass_to_pass)))


def bundle(one: PoolBug, decides: bool = False) -> str:
    """The evaluation's data, packed: the artifact's script and parser, the tests, and the ids that are written
    differently; with `decides` also the deciding tests, for formats without a row at evaluation."""
    value = {
        **({"wanted": wanted(one)} if decides else {}),
        "test_script.sh": one.artifact.test_script,
        "test_parser.py": one.artifact.test_parser,
        "test_files": list(one.artifact.test_files),
        "test_patch": one.test_patch,
        "own": list(one.repairs),
        "flaky": test_names(one.bug.flaky),
        "names": other_names((*one.bug.fail_to_pass, *one.bug.pass_to_pass, *one.bug.flaky)),
    }
    packed = base64.b64encode(zlib.compress(json.dumps(value, sort_keys=True).encode(), LEVEL)).decode()
    return "\n".join(packed[at : at + WIDTH] for at in range(0, len(packed), WIDTH))


def commands(one: PoolBug) -> tuple[list[str], str]:
    """(the commands that restore the tests and run them, the command that prints their outcomes)"""
    program = "python=$(command -v python3 || command -v python); selfplay=$(mktemp -d)"
    first = [
        "set +x",
        program,
        "cat > \"$selfplay/evaluate.py\" <<'SELFPLAY_PROGRAM'",
        inside.text("evaluate.py").rstrip("\n"),
        "SELFPLAY_PROGRAM",
        "cat > \"$selfplay/bundle\" <<'SELFPLAY_BUNDLE'",
        bundle(one),
        "SELFPLAY_BUNDLE",
        '"$python" -I "$selfplay/evaluate.py" "$selfplay/bundle" "$selfplay" run',
    ]
    return first, '"$python" -I "$selfplay/evaluate.py" "$selfplay/bundle" "$selfplay" report'


def eval_script(one: PoolBug) -> str:
    """`eval_script` of a row, as swebench 5 runs it: as root, in the bug's image, the patch applied to `/testbed`."""
    first, last = commands(one)
    lines = ["#!/bin/bash", "set -uxo pipefail", "cd /testbed", *first, "set -x"]
    return "\n".join([*lines, f": '{START}'", last, f": '{END}'"]) + "\n"
