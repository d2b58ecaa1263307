"""Prints, as JSON, which of the names on standard input this Python finds outside the given folder.

Each name comes with whether it is a whole module: a folder without `__init__` only adds to a namespace package.
"""

import importlib.machinery
import json
import os
import sys

here = os.path.realpath(sys.argv[1])
path = [entry for entry in sys.path if entry and not (os.path.realpath(entry) + os.sep).startswith(here + os.sep)]
found = []
for name, whole in json.load(sys.stdin):
    if name in sys.builtin_module_names:
        found.append(name)
        continue
    spec = importlib.machinery.PathFinder.find_spec(name, path)
    if spec is not None and (whole or spec.origin is None or spec.loader is None):
        found.append(name)
print(json.dumps(found))
