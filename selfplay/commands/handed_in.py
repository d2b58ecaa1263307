"""What an agent made of a world that `selfplay world` handed out, as a diff.

The agent had the tree, with its `.git`: what git runs there, the agent has chosen. So the host runs nothing in it. The
files are copied as a stream, put in the place of the tree in a sandbox, and compared there as a solver's are.
"""

from dataclasses import replace
from pathlib import Path

from selfplay.commands.world import TREE
from selfplay.curriculum.stored_bugs import prepared_for, read_bug
from selfplay.oracle.errors import PredictionError
from selfplay.oracle.world import Prediction, SolverWorld, open_world, prediction_of
from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.copying import copied
from selfplay.repository.fetching.local import CACHES
from selfplay.rollout.ready_bug import make_ready
from selfplay.sandbox import WORKDIR, Backend, Mount
from selfplay.sandbox.owners import scratch
from selfplay.sandbox.retry import again

HANDED = "/handed"
COPY_SECONDS = 300.0
REPLACE = f"find {WORKDIR} -mindepth 1 -maxdepth 1 -exec rm -rf -- {{}} + && cp -a {HANDED}/. {WORKDIR}/"


def tree_in(out: Path) -> Path:
    """The tree in what `selfplay world` wrote. Raises `PredictionError` if there is none."""
    tree = out / TREE
    if tree.is_symlink() or not tree.is_dir():
        raise PredictionError("unreadable", f"{out} holds no folder {TREE}", "Name what `selfplay world` wrote.")
    return tree


def handed_in(folder: Path, tree: Path, backend: Backend, *, trust: bool = False) -> Prediction:
    """The diff of what an agent made of the `tree` of the bug in `folder`, and the paths that it cannot hold. Raises
    `PredictionError` if no diff can be made of it, which is the agent's doing."""
    bug, _, _ = read_bug(folder)

    def work() -> Prediction:
        task = make_ready(folder, prepared_for(folder, bug, backend, trust=trust)).task
        with scratch() as place:
            place.chmod(0o711)
            mounts = _copied(tree, place, backend)
            shown = replace(task, world=replace(task.world, mounts=(*task.world.mounts, *mounts)))
            with open_world(backend, shown) as world:
                _replace(world, tree)
                changes = world.changes()
        return prediction_of(backend, task, changes)

    return again(work)


def _copied(tree: Path, place: Path, backend: Backend) -> tuple[Mount, ...]:
    try:
        return copied((Mount(tree, HANDED),), 0, place, backend.owner(), "what was left", COPY_SECONDS, skipped=CACHES)
    except SourceError as error:
        raise PredictionError("unreadable", error.message) from error


def _replace(world: SolverWorld, tree: Path) -> None:
    """Put the agent's files in the place of the tree, from which nothing is run any more."""
    done = world.own.run("replacing the tree", ["bash", "--norc", "-c", REPLACE])
    if done.exit_code != 0 or done.timed_out:
        raise PredictionError("unreadable", f"{tree} cannot be put into a sandbox: {done.text.strip()[-300:]}")
