"""Runs in Harbor's environment: its own model of a task reads each folder. Argument: the folder of tasks."""

import json
import pathlib
import sys

from harbor.models.task.task import Task

found = {}
for folder in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    task = Task(folder)
    found[task.name] = {"image": task.config.environment.docker_image, "instruction": task.instruction}
print("RESULT " + json.dumps(found))
