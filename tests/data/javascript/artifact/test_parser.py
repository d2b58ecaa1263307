"""TAP of `node --test` on stdin, JSON on stdout. Only leaves are tests; names are joined along the suites."""

import json
import re
import sys

sys.stdin.reconfigure(encoding="utf-8", errors="replace")
names, parents, outcomes = [], set(), {}
for line in sys.stdin:
    opened = re.match(r"( *)# Subtest: (.*)$", line)
    if opened:
        depth = len(opened[1]) // 4
        del names[depth:]
        parents.add(tuple(names))
        names.append(opened[2])
    closed = re.match(r"( *)(not ok|ok) \d+ - (.*?)(?: # (?:SKIP|TODO).*)?$", line)
    if closed:
        path = (*names[: len(closed[1]) // 4], closed[3])
        if path not in parents:
            outcomes[" > ".join(path).replace("\\#", "#")] = "passed" if closed[2] == "ok" else "failed"
json.dump(outcomes, sys.stdout)
