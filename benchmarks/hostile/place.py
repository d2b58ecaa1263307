"""A copy of a run beside the user's own files, and the commands that open it."""

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MIB = 1024 * 1024
ESCAPE = "\x1b]0;owned\x07\x1b[2J"


@dataclass(frozen=True)
class Place:
    """A copy of the run, one bug of it, a trajectory, predictions and a patch, and what must not be touched."""

    run: Path
    outside: Path
    seed: int

    @property
    def bug(self) -> Path:
        return sorted((self.run / "bugs").iterdir())[0]

    @property
    def trajectory(self) -> Path:
        return sorted((self.run / "trajectories").iterdir())[0]

    @property
    def predictions(self) -> Path:
        return self.outside.with_name("predictions.jsonl")

    @property
    def patch(self) -> Path:
        return self.outside.with_name("some.diff")

    @property
    def mark(self) -> Path:
        """The file that the program in `outside` would make."""
        return self.outside.with_name("executed")

    @property
    def program(self) -> Path:
        return self.outside / "python3.11"

    def random(self) -> random.Random:
        return random.Random(self.seed)


Change = Callable[[Place], None]
BUG = ("show-bug", "validate-bug", "grade", "audit")
RUNNING = ("validate-bug", "grade", "audit")
POOL = ("show", "validate", "solve", "demonstrate", "export")
READING = ("show", "export")
WRITING = ("solve", "demonstrate")
TOLD = ("show-episode", "export")


@dataclass(frozen=True)
class Case:
    """`refused`: the commands that must end with a typed line; `tried`: others that may end well, in bounds."""

    name: str
    change: Change
    refused: tuple[str, ...]
    tried: tuple[str, ...] = ()


def prepare(finished: Path, place: Path, seed: int) -> Place:
    """A copy of the finished run in `place`, and the user's own files beside it."""
    outside = place / "outside"
    (outside / "kept" / "deep").mkdir(parents=True)
    (outside / "secret").write_text("the user's own\n")
    (outside / "kept" / "deep" / "file").write_text("kept\n")
    shutil.copytree(finished, place / "run", symlinks=True)
    found = Place(place / "run", outside, seed)
    found.program.write_text(f"#!/bin/sh\ntouch {found.mark}\n")
    found.program.chmod(0o755)
    found.predictions.write_text(json.dumps({"instance_id": found.bug.name, "model_patch": ""}) + "\n")
    found.patch.write_text("")
    return found


def arguments(command: str, place: Place) -> list[object]:
    """The command line of one of the commands that a case names."""
    return {
        "show": ["show", place.run],
        "show-bug": ["show", place.bug],
        "show-json": ["show", place.bug, "--json"],
        "episode-json": ["show", place.trajectory, "--json"],
        "show-episode": ["show", place.trajectory],
        "validate": ["validate", place.run, "--workers", 1],
        "validate-bug": ["validate", place.bug, "--workers", 1],
        "grade": ["grade", place.bug, "--patch", place.patch, "--no-counterfactual"],
        "predictions": ["grade", place.run, "--predictions", place.predictions, "--no-counterfactual"],
        "audit": ["audit", place.bug],
        "solve": ["solve", place.run, "--policy", "empty", "--attempts", 1, "--workers", 1],
        "demonstrate": ["trajectories", "demonstrate", place.run, "--workers", 1],
        "report": ["report", place.run, "--out", place.outside.with_name("page.html")],
        "dataset": ["export", place.run, "--out", place.outside.with_name("dataset")],
        "export": [
            "trajectories",
            "export",
            place.run,
            "--scripted",
            "--out",
            place.outside.with_name("lessons.jsonl"),
        ],
    }[command]
