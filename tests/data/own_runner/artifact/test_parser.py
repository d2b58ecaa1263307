import json
import re
import sys

sys.stdin.reconfigure(encoding="utf-8", errors="replace")
found = (re.fullmatch(r"(PASS|FAIL): (.*)\n?", line) for line in sys.stdin)
json.dump({line[2]: line[1].lower() + "ed" for line in found if line}, sys.stdout)
