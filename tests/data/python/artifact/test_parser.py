import json
import re
import sys

outcomes = {}
for line in sys.stdin:
    found = re.match(r"(\w+) \(([\w.]+)\) \.\.\. (ok|FAIL|ERROR)$", line)
    if found:
        outcomes[found[2]] = "passed" if found[3] == "ok" else "failed"
json.dump(outcomes, sys.stdout)
