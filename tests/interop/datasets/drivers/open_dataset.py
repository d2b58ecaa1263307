"""Runs where `datasets` is: opens a folder, whole and as a stream. Arguments: the folder, and a file to write to."""

import json
import sys

from datasets import load_dataset

found = {}
for split, rows in load_dataset(sys.argv[1]).items():
    first = next(iter(load_dataset(sys.argv[1], split=split, streaming=True)))
    found[split] = {
        "rows": len(rows),
        "features": {name: str(feature) for name, feature in rows.features.items()},
        "first": rows[0],
        "streams": first == rows[0],
    }
print("RESULT " + json.dumps(found))
