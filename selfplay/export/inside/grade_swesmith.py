"""Has SWE-smith's own grader read logs that lie ready, without an engine: python grade_logs.py PREDICTIONS LOGS

Runs where swesmith is installed. LOGS is what `selfplay logs --format swesmith` wrote for these predictions.
"""

import json
import pathlib
import sys

import build_images
import swesmith_profiles  # noqa: F401  (registers a profile of each repository)


def main(predictions, logs):
    from swesmith.harness.grading import get_eval_report

    rows = {row["instance_id"]: row for row in build_images.rows()}
    with open(predictions, encoding="utf-8") as lines:
        given = [json.loads(line) for line in lines]
    resolved, missing = [], []
    for one in given:
        log = pathlib.Path(logs, one["instance_id"], "test_output.txt")
        if not log.is_file():
            missing.append(one["instance_id"])
            continue
        report = get_eval_report(one, rows[one["instance_id"]], str(log))
        log.with_name("report.json").write_text(json.dumps(report, indent=4))
        if report["resolved"]:
            resolved.append(one["instance_id"])
    for name in missing:
        print("without a log: " + name)
    print("Resolved %d of %d" % (len(resolved), len(given)))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
