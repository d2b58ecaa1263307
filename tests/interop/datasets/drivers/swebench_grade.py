"""Runs in swebench's environment: its loader, its test spec and its grader, on logs that lie ready.

Arguments: the table, and a JSON file of {instance: {kind: path of a log}}, or nothing to get the scripts; then files of
predictions to read."""

import json
import pathlib
import sys

from swebench.harness.grading import get_eval_report
from swebench.harness.utils import get_predictions_from_file, load_swebench_dataset, make_test_spec

table, logs, predictions = sys.argv[1], json.loads(pathlib.Path(sys.argv[2]).read_text()), sys.argv[3:]
specs = {row["instance_id"]: make_test_spec(row) for row in load_swebench_dataset(table, "train")}
resolved = {}
for instance, kinds in logs.items():
    for kind, path in kinds.items():
        prediction = {"instance_id": instance, "model_patch": kind, "model_name_or_path": kind}
        report = get_eval_report(specs[instance], prediction, path, include_tests_status=True)
        resolved.setdefault(instance, {})[kind] = report[instance]["resolved"]
scripts = {instance: spec.eval_script for instance, spec in specs.items()}
read = {path: len(get_predictions_from_file(path, table, "train")) for path in predictions}
print("RESULT " + json.dumps({"resolved": resolved, "scripts": scripts, "predictions": read}))
