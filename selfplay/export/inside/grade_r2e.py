"""Rewards logs that lie ready by R2E-Gym's rule, which is on no package index: python grade_logs.py PREDICTIONS LOGS

The rule: of what follows `short test summary info` each line with PASSED, else FAILED, names a test by what stands
behind its first `::`, with dots for further ones; the reward is 1 when that is exactly `expected_output_json`. LOGS is
what `selfplay logs --format r2e` wrote for these predictions.
"""

import json
import pathlib
import re
import sys

from build_images import rows


def outcomes(log):
    """Test -> PASSED or FAILED."""
    found = {}
    for line in re.sub(r"\x1b\[[0-9;]*m|\r", "", log).partition("short test summary info")[2].strip().split("\n"):
        for outcome in ("PASSED", "FAILED"):
            if outcome in line:
                found[".".join(line.split("::")[1:]).split(" - ")[0]] = outcome
                break
    return found


def main(predictions, logs):
    expected = {row["instance_id"]: json.loads(row["expected_output_json"]) for row in rows()}
    with open(predictions, encoding="utf-8") as lines:
        given = [json.loads(line)["instance_id"] for line in lines]
    rewarded = 0
    for name in given:
        log = pathlib.Path(logs, name, "test_output.txt")
        if log.is_file():
            rewarded += outcomes(log.read_text(encoding="utf-8", errors="replace")) == expected[name]
        else:
            print("without a log: " + name)
    print("Rewarded %d of %d" % (rewarded, len(given)))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
