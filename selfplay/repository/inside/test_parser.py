"""Reads the raw log of test_script.sh on stdin and prints {test id: "passed" or "failed"} as JSON.

Skipped tests and expected failures are left out. A line without an outcome is the test during which the run died: it
failed.
"""

import json
import sys

PREFIX = b"SELFPLAY {"
OUTCOMES = {"passed": "passed", "failed": "failed"}


def parse(log):
    outcomes = {}
    for line in log.split(b"\n"):
        start = line.find(PREFIX)
        if start < 0:
            continue
        text = line[start + len(PREFIX) - 1 :].decode("utf-8", "replace").strip()
        for attempt in (text, text + "}"):
            try:
                record = json.loads(attempt)
            except ValueError:
                continue
            if isinstance(record, dict) and isinstance(record.get("id"), str):
                outcomes[record["id"]] = OUTCOMES.get(record.get("outcome", "failed"))
            break
    return {test: outcome for test, outcome in outcomes.items() if outcome}


if __name__ == "__main__":
    json.dump(parse(sys.stdin.buffer.read()), sys.stdout)
