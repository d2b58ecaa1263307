"""Candidates of SWE-smith's procedural generator, by its public interface. Runs in SWE-smith's own environment.

Arguments: a tree, a seed, how many, and the code files to change, relative to the tree. Prints a JSON list of
`{path, what, after}`. Entities and modifiers are paired in an order the seed fixes, as its `--interleave` does.
"""

import json
import os
import random
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from swesmith.bug_gen.adapters import get_entities_from_file  # type: ignore[import-not-found]
from swesmith.bug_gen.procedural import MAP_EXT_TO_MODIFIERS  # type: ignore[import-not-found]
from swesmith.bug_gen.utils import apply_code_change  # type: ignore[import-not-found]


def main(tree: str, seed: str, count: str, *files: str) -> None:
    random.seed(int(seed))
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(tree, f"{folder}/tree", symlinks=True)
        os.chdir(f"{folder}/tree")  # entities name files by the path they were read from
        found = []
        for entity, modifier in pairs(files):
            before = Path(entity.file_path).read_text()
            rewrite = modifier.modify(entity)
            if rewrite is None:
                continue
            apply_code_change(entity, rewrite)
            after = Path(entity.file_path).read_text()
            Path(entity.file_path).write_text(before)
            if after != before:
                found.append({"path": entity.file_path, "what": modifier.name, "after": after})
            if len(found) == int(count):
                break
        print(json.dumps(found))


def pairs(files: tuple[str, ...]) -> list[tuple[Any, Any]]:
    entities: list[Any] = []
    for file in files:
        get_entities_from_file[".py"](entities, file)
    both = [(entity, modifier) for modifier in MAP_EXT_TO_MODIFIERS[".py"] for entity in entities]
    both = [(entity, modifier) for entity, modifier in both if modifier.can_change(entity)]
    random.shuffle(both)
    return both


if __name__ == "__main__":
    main(*sys.argv[1:])
