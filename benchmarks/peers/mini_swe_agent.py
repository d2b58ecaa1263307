"""mini-swe-agent's bubblewrap environment: a fresh sandbox for each command, and whether a timeout kills it."""

import json
import subprocess
import sys
import time

from minisweagent.environments.extra.bubblewrap import BubblewrapEnvironment

MARK = "9472.25"
environment = BubblewrapEnvironment(executable=sys.argv[2])
commands = []
for _ in range(int(sys.argv[1])):
    started = time.perf_counter()
    done = environment.execute({"command": "true"})
    commands.append((time.perf_counter() - started) * 1000)
    assert done["returncode"] == 0, done
environment.execute({"command": f"setsid sleep {MARK} & sleep {MARK}"}, timeout=1)
time.sleep(0.5)
survives = subprocess.run(["pkill", "-KILL", "-f", f"^sleep {MARK}$"]).returncode == 0
print(json.dumps({"start": [], "command": commands, "survives": survives}))
