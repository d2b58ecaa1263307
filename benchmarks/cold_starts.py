"""Is a model ready to learn? A copy of a run's bugs is attempted, so that nothing of it counts in the run itself."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.ours import selfplay
from selfplay.curriculum import read_pool
from selfplay.curriculum.records import Attempt


def copied(run: Path, out: Path) -> Path:
    """A run folder with the same bugs and whatever else `run` holds now; made once."""
    if not out.exists():
        half_copied = out.with_suffix(".copied")
        shutil.rmtree(half_copied, ignore_errors=True)
        shutil.copytree(run, half_copied, symlinks=True).rename(out)
    return out


def resolves(
    run: Path, model: Path, tries: int, settings: Mapping[str, str], again: str, bugs: Sequence[str] = ()
) -> dict[str, int]:
    """In how many of `tries` attempts a model resolves each bug of a run, or each of `bugs`, at full assurance: a weak
    grade earns nothing in training. `settings`: of vLLM and the player."""
    options = [word for name, value in settings.items() for word in ("--option", f"{name}={value}")]
    named, player = [word for bug in bugs for word in ("--bug", bug)], f"vllm:{model}"
    selfplay("solve", run, "--policy", player, "--attempts", tries, *options, *named, again=again)
    with read_pool(run) as pool:
        every = bugs or [bug.id for bug in pool.bugs()]
        found = [one.bug for one in pool.attempts.all() if one.policy == player and earns(one)]
    return {bug: found.count(bug) for bug in every}


def earns(attempt: Attempt) -> bool:
    """Whether it is resolved, and not weakly."""
    return attempt.resolved and attempt.figures.assurance == "full"


def half() -> bool:
    """Whether the processor has instructions for bf16: it then trains and samples in less than two thirds of the
    time."""
    from selfplay.train.precision import slow_precision

    return not slow_precision("bf16")
