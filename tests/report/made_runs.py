"""Runs of any size without a sandbox: rows of a pool, folders of bugs, attempts and episodes, as the commands write
them. The texts may be hostile."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import hand_made

from selfplay.agent import Step, Trajectory
from selfplay.agent.actions import Call, Finish
from selfplay.agent.trajectory_file import save
from selfplay.artifact import Artifact, Bug
from selfplay.artifact.bug import FailedAttempt
from selfplay.curriculum import (
    Attempt,
    AttemptFigures,
    Curriculum,
    EpisodeRecord,
    Promotion,
    StoredEpisodeFigures,
    open_curriculum,
)
from selfplay.curriculum.crediting import ENDING, injection_name

ARTIFACT = hand_made.artifact("python")
THRESHOLDS = {"min_passing_tests": 5, "min_changed_files": 1, "min_failing_tests": 1, "seconds": 90.0, "repeats": 2,
              "max_changed_files": 100, "max_lost_share": 0.25}  # fmt: skip
HOSTILE = "</script><script>owned=1</script><img src=x onerror=owned=1>\u2028<!--<script>'\"`${owned=1}"
"""What would run, were any of it taken for HTML or JavaScript."""

LONG = "tests/test_part.py::" + "a_word_without_an_end_" * 8
"""No page may become wider for it."""


def diff(path: str, *lines: str) -> str:
    """A diff of one hunk that replaces a line by `lines`."""
    added = "".join(f"+{line}\n" for line in lines)
    return (
        f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,{len(lines) + 1} @@ def f():\n"
        f"     x = 1\n-    return x\n{added}"
    )


def artifact(number: int, text: str = "") -> Artifact:
    """The artifact of bug `number`."""
    broken = diff(f"src/part{number}.py", f"    return {number}  # {text}")
    return replace(ARTIFACT, bug_inject=broken, test_weaken=diff("tests/test_part.py", f"    pass  # {text}"))


def bug(number: int, text: str = "", **more: object) -> Bug:
    verdicts = [
        {"check": name, "passed": True, "reason": f"fine {text}", "seconds": 0.5, "runs": 1, "details": {}}
        for name in ("test_files", "bug")
    ]
    fields: dict[str, object] = {
        "id": f"demo-1.removal.{number:04d}", "strategy": "removal", "seed": 0, "source": f"pypi:demo {text}",
        "revision": "1", "commit": "c", "tree_hash": "7" * 40, "content_hash": artifact(number, text).content_hash(),
        "fail_to_pass": (f"tests/test_part.py::test[{number} {text}]",), "pass_to_pass": ("y", "z"), "policy": "p",
        "thresholds": THRESHOLDS, "verdicts": tuple(verdicts),
    }  # fmt: skip
    return Bug.model_validate({**fields, **more})


def made_run(folder: Path, bugs: int = 3, *, attempts: int = 2, text: str = "") -> Path:
    """A run of `bugs` bugs: of each, the last attempt fails and the others are resolved, except that nobody solves bug
    0, whose first failed attempt became a bug of second order. One more episode failed the check `bug`."""
    with open_curriculum(folder) as pool:
        pool.settle({"policy": "scripted", "source": f"pypi:demo {text}"})
        pool.add_cost("bugs", 20.0, 10.0)
        for number in range(bugs):
            _plant(pool, number, text)
            for turn in range(attempts):
                _try(pool, number, turn, number > 0 and turn < attempts - 1, text)
        figures = StoredEpisodeFigures(seconds=2.0, suite_runs=2)
        pool.episodes.store(EpisodeRecord(bugs, "history", "invalid", f"no {text} {LONG}", figures, "bug"))
        pool.episodes.take(bugs + 1)
        if bugs and attempts:
            _promote(pool, text)
    return folder


def _plant(pool: Curriculum, number: int, text: str) -> None:
    name = f"{injection_name(number)}{ENDING}"
    figures = StoredEpisodeFigures(seconds=4.0, files=(f"src/part{number}.py",), changed_lines=2, suite_runs=3, calls=2)
    record = EpisodeRecord(number, "removal", "valid", "", figures, None, f"tree {number}", artifact(number, text),
                           bug(number, text), trajectory=name)  # fmt: skip
    pool.episodes.store(record)
    _episode(pool, name, "injector", text)


def _try(pool: Curriculum, number: int, turn: int, resolved: bool, text: str) -> None:
    name = f"demo-{number}-{turn}-solver{ENDING}"
    reason = "resolved" if resolved else "failing-tests"
    fix = diff(f"src/part{number}.py", f"    return x + {turn}  # {text}")
    figures = AttemptFigures(seconds=1.5, calls=2)
    pool.attempts.add(
        Attempt(bug(number).id, "scripted", turn, resolved, reason, f"why {text} {LONG}", fix, figures, trajectory=name)
    )
    _episode(pool, name, "solver", text)


def _episode(pool: Curriculum, name: str, role: str, text: str) -> None:
    steps = (
        Step(Call("bash", {"command": f"cat a.py {text}"}), f"seen {text}\n", 0, 0.25),
        Step(Call("submit", {"folder": "out"}), f"failed {text} {LONG}\n", 1, 0.5),
    )
    save(Trajectory(role, f"p {text}", Finish.SUBMITTED, steps, "out", 1.0), pool.folder / "trajectories" / name)


def _promote(pool: Curriculum, text: str) -> None:
    parent, fix = bug(0, text), diff("src/part0.py", f"    return x + 0  # {text}")
    made_of = FailedAttempt(policy="scripted", number=0, sha256=hashlib.sha256(fix.encode()).hexdigest())
    child = bug(0, text, id="demo-1.removal.0000.o2.0", order=2, parent=parent.id, root=parent.id, attempt=made_of)
    promotion = Promotion(parent.id, "scripted", 0, "promoted", "another tree", child)
    pool.attempts.add_promotion(promotion, artifact(0, text), fix)


def with_metrics(folder: Path, steps: int, step: dict[str, object]) -> Path:
    """The run with the figures of training steps that are all alike."""
    lines = [json.dumps({**step, "number": number}) for number in range(steps)]
    (folder / "metrics.jsonl").write_text("".join(f"{line}\n" for line in lines))
    return folder
