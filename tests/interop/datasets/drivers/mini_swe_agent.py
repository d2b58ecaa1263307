"""Runs in mini-swe-agent's environment: its own command on one instance, with a model that always says the same, in
its local environment. Arguments: the dataset's folder, the instance, the repository's tree, the output folder."""

import pathlib
import sys

import yaml
from minisweagent.run.benchmarks import swebench

dataset, instance, tree, out, patch = sys.argv[1:]
submit = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat " + patch
config = {
    "agent": {"system_template": "You repair.", "instance_template": "{{task}}", "step_limit": 3, "cost_limit": 1.0},
    "environment": {"environment_class": "local", "cwd": tree},
    "model": {
        "model_class": "deterministic",
        "model_name": "deterministic",
        "outputs": [
            {"role": "assistant", "content": "I submit.", "extra": {"actions": [{"command": submit}], "cost": 0.0}}
        ],
    },
}
pathlib.Path(out, "config.yaml").write_text(yaml.safe_dump(config))
swebench.main(
    subset=dataset, split="train", slice_spec="", filter_spec=instance + "$", shuffle=False, output=out, workers=1,
    model=None, model_class=None, redo_existing=False, config_spec=[out + "/config.yaml"], environment_class="local",
)  # fmt: skip
print("RESULT " + pathlib.Path(out, "preds.json").read_text().replace("\n", " "))
