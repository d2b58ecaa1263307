"""What `selfplay world` does: write a solver's world as files, so that any agent can attempt the bug without
selfplay. What the agent made of it is read by `handed_in`."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from selfplay.curriculum import CurriculumError
from selfplay.curriculum.reading_bounds import run_of
from selfplay.curriculum.stored_bugs import prepared_for, read_bug
from selfplay.export.writing import new_folder
from selfplay.oracle.world import open_world
from selfplay.plain_text import encode
from selfplay.repository.errors import BadStream
from selfplay.repository.files.tree_files import bring_tree_out, commit_here
from selfplay.roles.solver import SOLVER
from selfplay.roles.solver.task import SolverTask
from selfplay.rollout.ready_bug import make_ready
from selfplay.sandbox import WORKDIR, Backend
from selfplay.sandbox.retry import again

TREE, PROMPT = "testbed", "prompt.md"


@dataclass(frozen=True)
class HandedOut:
    """`out`: the folder; `hand_in`: the command that grades the result."""

    out: Path
    hand_in: str

    def to_json(self) -> dict[str, str]:
        return {"out": str(self.out), "tree": str(self.out / TREE), "prompt": str(self.out / PROMPT),
                "hand_in": self.hand_in}  # fmt: skip


def hand_out(folder: Path, out: Path, backend: Backend, *, trust: bool = False) -> HandedOut:
    """Write the world of the bug in `folder` into `out`, which is new or empty: the broken tree as one commit, and
    the prompt. Nothing in it names the bug's folder, which holds the answer.

    Raises `SelfplayError` for a damaged bug, or one whose environment is gone."""
    bug, _, _ = read_bug(folder)

    def work() -> None:
        ready = make_ready(folder, prepared_for(folder, bug, backend, trust=trust))
        with new_folder(out, run_of(folder)) as staging:
            (staging / TREE).mkdir()
            with open_world(backend, ready.task) as world:
                try:
                    bring_tree_out(world.sandbox, staging / TREE, world.python)
                except BadStream as error:
                    raise CurriculumError(f"the world of {bug.id} cannot be handed out: {error.message}") from error
            commit_here(staging / TREE)
            told = SOLVER.prompt(SolverTask(bug.id, ready.specification, statement=ready.statement))
            (staging / PROMPT).write_bytes(encode(told.replace(WORKDIR, f"./{TREE}") + "\n"))

    again(work)
    return HandedOut(out, f"selfplay grade {shlex.quote(str(folder))} --world {shlex.quote(str(out))}")
