"""Runs in SWE-smith's environment: the shipped profiles register themselves, and its own report reads logs that lie
ready. Arguments: the dataset's folder, and a JSON file of {instance: {kind: path of a log}}."""

import json
import pathlib
import sys

folder, logs = sys.argv[1], json.loads(pathlib.Path(sys.argv[2]).read_text())
sys.path.insert(0, folder)
import swesmith_profiles  # noqa: E402, F401 - registers
from swesmith.harness.grading import get_eval_report  # noqa: E402
from swesmith.profiles import registry  # noqa: E402

rows = [json.loads(line) for line in pathlib.Path(folder, "train.jsonl").read_text().splitlines()]
scripts, resolved = {}, {}
for row in rows:
    profile = registry.get_from_inst(row)
    assert row["instance_id"].rsplit(".", 1)[0] == profile.repo_name, (row["instance_id"], profile.repo_name)
    command, _ = profile.get_test_cmd(row)
    scripts[row["instance_id"]] = (
        "\n".join(
            [
                "#!/bin/bash",
                "set -uxo pipefail",
                "cd /testbed",
                ": '>>>>> Start Test Output'",
                command,
                ": '>>>>> End Test Output'",
            ]
        )
        + "\n"
    )  # as `run_patch_in_container` writes it
    for kind, path in logs.get(row["instance_id"], {}).items():
        prediction = {"instance_id": row["instance_id"], "model_patch": kind, "model_name_or_path": kind}
        resolved.setdefault(row["instance_id"], {})[kind] = get_eval_report(prediction, row, path)["resolved"]
print("RESULT " + json.dumps({"scripts": scripts, "resolved": resolved}))
