"""Pools made by hand, without episodes: bugs of the artifacts under `tests/data`, whose originals lie beside them."""

import hashlib
import json
import shutil
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import hand_made

from selfplay.artifact import Artifact, Bug
from selfplay.curriculum import Attempt, EpisodeRecord, Promotion, StoredEpisodeFigures, open_curriculum
from selfplay.curriculum.stored_bugs import read_bug
from selfplay.validators import Validation

TREE = "5" * 40


def bug(artifact: Artifact, **known: Any) -> Bug:
    """The record of an artifact."""
    fields = {
        "id": "shop-1.removal.0", "strategy": "removal", "seed": 7, "source": "pypi:shop==1", "revision": "1",
        "commit": "c" * 40, "tree_hash": TREE, "content_hash": artifact.content_hash(), "policy": "scripted",
        "fail_to_pass": ("tests/test_a.py::test_broken",), "pass_to_pass": ("tests/test_a.py::test_well",),
        "versions": {"selfplay": "0"}, "thresholds": {"seconds": 30.0},
        "verdicts": ({"check": "bug", "passed": True, "reason": "one test fails"},),
    }  # fmt: skip
    return Bug(**{**fields, **known})


def numbered(artifact: Artifact, count: int, **known: Any) -> list[tuple[Bug, Artifact]]:
    """Different bugs of one artifact: their scripts differ in a comment."""
    found = []
    for number in range(count):
        other = replace(artifact, test_script=f"{artifact.test_script}\n# {number}\n")
        found.append((bug(other, id=f"shop-1.removal.{number}", **known), other))
    return found


def pool(folder: Path, original: Path, bugs: list[tuple[Bug, Artifact]], language: str = "python") -> Path:
    """A run's folder that holds these bugs, as planted in this original."""
    tree = tree_of(original)
    with open_curriculum(folder) as opened:
        shutil.copytree(original, folder / "original", symlinks=True)
        bugs = [(one.model_copy(update={"tree_hash": tree}), artifact) for one, artifact in bugs]
        for number, (one, artifact) in enumerate(bugs):
            opened.record_repository(one.source, {"language": language})
            record = EpisodeRecord(
                number, one.strategy, "valid", "", StoredEpisodeFigures(), tree_key=f"tree {number}", artifact=artifact,
                bug=one, repository=one.source,
            )  # fmt: skip
            opened.episodes.store(record)
        for source in dict.fromkeys(one.source for one, _ in bugs):
            opened.episodes.take(len(bugs), repository=source)
    return folder


def tree_of(original: Path) -> str:
    """The id that git gives the files of a folder."""
    with tempfile.TemporaryDirectory() as place:
        git = ["git", f"--git-dir={place}/git", f"--work-tree={original}"]
        for step in (["init", "-q"], ["add", "-A", "-f"], ["write-tree"]):
            said = subprocess.run([*git, *step], check=True, capture_output=True, text=True).stdout
    return said.strip()


def promoted(folder: Path, parent: Bug, name: str) -> Path:
    """The pool, with a second-order bug made of a failed attempt at this bug of it, which added a file."""
    attempt = "diff --git a/new.py b/new.py\nnew file mode 100644\n--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+x = 1\n"
    failed = {"policy": "scripted", "number": 2, "sha256": hashlib.sha256(attempt.encode()).hexdigest()}
    _, artifact, _ = read_bug(folder / "bugs" / parent.id)
    child = bug(
        artifact, id=name, order=2, parent=parent.id, root=parent.id, attempt=failed,
        tree_hash=tree_of(folder / "original"),
    )  # fmt: skip
    with open_curriculum(folder) as opened:
        promotion = Promotion(parent.id, "scripted", 2, "promoted", name, child)
        opened.attempts.add_promotion(promotion, artifact, attempt)
    return folder


def attempts(folder: Path, bug: str, outcomes: str, policy: str = "scripted") -> None:
    """Store attempts at a bug: a `+` for each that is resolved, any other letter for each that is not."""
    with open_curriculum(folder) as opened:
        for number, outcome in enumerate(outcomes):
            opened.attempts.add(Attempt(bug, policy, number, outcome == "+", "why", "", ""))


def measured(language: str, found: Validation, **known: Any) -> tuple[Bug, Artifact]:
    """The bug of a hand-made artifact with the tests that its checks measured."""
    artifact = hand_made.artifact(language)
    verdicts = tuple(verdict.to_json() for verdict in found.verdicts)
    made = bug(
        artifact, id=f"{language}-1.removal.0", source=f"pypi:{language}==1", fail_to_pass=found.fail_to_pass,
        pass_to_pass=found.pass_to_pass, flaky=found.flaky, verdicts=verdicts,
        tree_hash=hashlib.sha1(language.encode()).hexdigest(), **known,
    )  # fmt: skip
    return made, artifact


def rows(folder: Path, split: str = "train") -> list[dict[str, Any]]:
    """The table of an export."""
    return [json.loads(line) for line in (folder / f"{split}.jsonl").read_text().splitlines()]
