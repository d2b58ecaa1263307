"""Has swebench's own grader read logs that lie ready, without an engine: python grade_logs.py PREDICTIONS LOGS

Runs where swebench is installed. LOGS is what `selfplay logs` wrote for these predictions.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main(predictions, logs):
    from swebench.harness.grading import get_eval_report
    from swebench.harness.utils import get_predictions_from_file, load_swebench_dataset, make_test_spec

    resolved, missing = [], []
    tables = sorted(path for kind in ("*.jsonl", "*.parquet") for path in HERE.glob(kind))
    rows = [row for table in tables for row in load_swebench_dataset(str(table), table.stem)]
    specs = {row["instance_id"]: make_test_spec(row) for row in rows}
    given = get_predictions_from_file(predictions, str(tables[0]), tables[0].stem)
    for one in given:
        log = pathlib.Path(logs, one["instance_id"], "test_output.txt")
        if not log.is_file():
            missing.append(one["instance_id"])
            continue
        report = get_eval_report(specs[one["instance_id"]], one, str(log), include_tests_status=True)
        log.with_name("report.json").write_text(json.dumps(report, indent=4))
        if report[one["instance_id"]]["resolved"]:
            resolved.append(one["instance_id"])
    for name in missing:
        print("without a log: " + name)
    print("Resolved %d of %d" % (len(resolved), len(given)))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
