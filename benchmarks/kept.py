"""Verdicts of a long benchmark kept in a file as they come, so that one that was stopped goes on where it was.

A verdict counts only for the code that gave it: each line names the judge's own source, and what another source gave is
made again.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import selfplay

JUDGING = ("oracle", "workbench", "patches")
"""The rooms that a grade depends on."""


def source() -> str:
    """What names the judge's source."""
    root, digest = Path(selfplay.__file__).parent, hashlib.sha256()
    for file in sorted(file for room in JUDGING for file in (root / room).rglob("*.py")):
        digest.update(f"{file.relative_to(root)}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:16]


@dataclass
class Kept:
    """The verdicts of one file; without a path they are kept nowhere."""

    path: Path | None = None
    lock: Lock = field(default_factory=Lock)

    @cached_property
    def source(self) -> str:
        return source()

    @cached_property
    def known(self) -> Mapping[str, Any]:
        """Key -> verdict, of this source alone. A line that was cut off is passed over."""
        found = dict[str, Any]()
        for line in self.path.read_text().splitlines() if self.path and self.path.exists() else ():
            try:
                row = json.loads(line)
            except ValueError:
                continue
            if row["source"] == self.source:
                found[row["key"]] = row["verdict"]
        return found

    def add(self, key: Sequence[object], verdict: Mapping[str, Any]) -> None:
        """Keep one more."""
        if self.path is None:
            return
        line = json.dumps({"source": self.source, "key": key_of(key), "verdict": verdict})
        with self.lock, self.path.open("a") as stream:
            stream.write(f"{line}\n")

    def of(self, key: Sequence[object]) -> Any:
        """The verdict that was kept under a key; None where there is none."""
        return self.known.get(key_of(key))


def key_of(parts: Sequence[object]) -> str:
    return json.dumps([str(one) for one in parts])
