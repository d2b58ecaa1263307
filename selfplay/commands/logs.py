"""What `selfplay logs` does, on values: run a dataset's evaluation of predictions in sandboxes, without a container
engine, and keep the logs for another tool's grader."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from selfplay.commands.event_loop import in_parallel
from selfplay.commands.predictions import read_predictions
from selfplay.curriculum import CurriculumError
from selfplay.curriculum.stored_bugs import prepared_for
from selfplay.curriculum.trust import NotTrusted
from selfplay.errors import SelfplayError
from selfplay.export.bug_selection import BugSelection
from selfplay.export.dataset import FORMATS
from selfplay.export.evaluation import seconds
from selfplay.export.formats import GradedForm
from selfplay.export.pools import PoolBug, collect
from selfplay.export.writing import new_folder, write_files
from selfplay.formatting import count
from selfplay.oracle.errors import PredictionError
from selfplay.oracle.task import Task
from selfplay.oracle.world import open_world, solver_world
from selfplay.plain_text import encode
from selfplay.repository import Prepared
from selfplay.rollout.scheduler import one_per_core
from selfplay.sandbox import Backend, Completed, Limits, SandboxError, World
from selfplay.sandbox.kill_detection import believed, starved
from selfplay.sandbox.retry import LIMITS, again

LOG = "test_output.txt"
NOT_APPLIED = ">>>>> Patch Apply Failed"
TIMED_OUT = ">>>>> Tests Timed Out"
"""The marks that both graders look for."""
_ENDED = re.compile(rb"^\| the test script ended with (-?\d{1,3})$", re.MULTILINE)
"""What the evaluation says of its test script (`export/inside/evaluate.py`)."""


@dataclass(frozen=True)
class LogsOrder:
    """What the user asked for. `form`: the format in which the bugs of `runs` were exported. `workers` None means one
    per core. `trust`: allow what a run wants to run or fetch."""

    runs: Sequence[Path]
    predictions: Path
    out: Path
    form: GradedForm = "swebench"
    workers: int | None = None
    trust: bool = False


@dataclass(frozen=True)
class Logged:
    """The result of one prediction: the log, or why there is none."""

    text: str = ""
    why: str = ""


@dataclass(frozen=True)
class _LogJob:
    name: str
    bug: PoolBug
    patch: bytes
    script: str
    prepared: Prepared


def run_logs(
    order: LogsOrder, backend: Backend, expect: Callable[[int], None], done: Callable[[str], None]
) -> dict[str, str]:
    """Write `OUT/<instance>/test_output.txt` for every prediction. Returns instance -> why it has no log. `expect` is
    called with their number, `done` for each finished one.

    Raises `SelfplayError` for errors that the user can mend, before anything runs, and leaves nothing in
    `order.out`."""
    wanted = _wanted(order)
    expect(len(wanted))
    failed: dict[str, str] = {}
    with new_folder(order.out, *order.runs) as folder:
        jobs = list(_jobs(order, wanted, backend, failed))
        for name in failed:
            done(name)
        workers = one_per_core(order.workers)
        with closing(in_parallel(jobs, lambda job, lease: _logged(job, lease), workers, backend, _unplayed)) as results:
            for job, found in results:
                done(job.name)
                if found.why:
                    failed[job.name] = found.why
                else:
                    write_files(folder, {f"{job.name}/{LOG}": found.text.encode("utf-8", "replace")})
    return dict(sorted(failed.items()))


def _wanted(order: LogsOrder) -> Mapping[str, tuple[PoolBug, str]]:
    """Instance -> its bug and its prediction."""
    form = FORMATS.get(order.form)
    if form is None or form.script is None:
        known = ", ".join(name for name, one in FORMATS.items() if one.script)
        raise CurriculumError(f"there is no log grader for the format {order.form!r}", f"Those of {known} do.")
    predictions = read_predictions(order.predictions)
    bugs = {form.name(one): one for one in collect(order.runs, BugSelection()).bugs}
    if unknown := sorted(predictions.keys() - bugs.keys()):
        raise PredictionError(
            "unknown-bug",
            f"{count(len(unknown), 'prediction is', 'predictions are')} for no bug of these runs as {order.form} names"
            f" them, first {unknown[0][:200]!r}",
            f"They are named like {min(bugs)!r}: --format says whose names they have, `selfplay grade` takes a run's.",
        )
    return {name: (bugs[name], patch) for name, patch in sorted(predictions.items())}


def _jobs(
    order: LogsOrder, wanted: Mapping[str, tuple[PoolBug, str]], backend: Backend, failed: dict[str, str]
) -> Iterator[_LogJob]:
    """A job for each prediction whose bug has an environment; a shared environment is built once."""
    script, known = FORMATS[order.form].script, dict[tuple[Path, str], Prepared]()
    assert script is not None
    for name, (one, patch) in wanted.items():
        key = (one.original, one.environment)
        try:
            diff = encode(patch)
            if key not in known:
                folder = one.run / "bugs" / one.bug.id
                known[key] = again(lambda: prepared_for(folder, one.bug, backend, trust=order.trust))  # noqa: B023 - called at once
        except (SandboxError, NotTrusted):
            raise
        except SelfplayError as error:
            failed[name] = error.message
            continue
        except UnicodeEncodeError:
            failed[name] = "its patch holds half of a character"
            continue
        yield _LogJob(name, one, diff, script(one), known[key])


def _logged(job: _LogJob, backend: Backend) -> Logged:
    """The log of one prediction, run in the same tree as an agent's image. What is killed, or gets no core, is run
    again, as when this package grades: a log without results is a verdict for every grader."""
    world, limit = solver_world(job.prepared), seconds(job.bug)
    try:
        for _ in range(LIMITS):
            done = believed(lambda: _evaluated(job, world, limit, backend), backend, world, Limits())
            if not starved(done.timed_out, done.cpu_seconds, limit):
                break
    except SandboxError:
        raise
    except SelfplayError as error:
        return Logged(why=error.message)
    late = f"\n\n{TIMED_OUT}: {limit:.0f} seconds exceeded.\n" if done.timed_out else ""
    return Logged(done.stdout.decode("utf-8", "replace") + late)


def _evaluated(job: _LogJob, world: World, limit: float, backend: Backend) -> Completed:
    """One evaluation in a fresh sandbox. It ends as graders expect; its exit code is here the test script's."""
    extra = (job.bug.attempt,) if job.bug.attempt else ()
    with open_world(backend, Task(world, job.bug.artifact, extra)) as opened:
        if job.patch:
            applied = opened.own.run("git", ["git", "apply", "--verbose", "-"], job.patch)
            if applied.exit_code:
                return replace(applied, stdout=f"{NOT_APPLIED}:\n{applied.text}".encode())
        opened.sandbox.write_file("/tmp/eval.sh", job.script.encode())
        done = opened.sandbox.run(["bash", "-c", "bash /tmp/eval.sh 2>&1"], timeout=limit)
    codes = _ENDED.findall(done.stdout)
    return replace(done, exit_code=int(codes[-1])) if codes else done


def _unplayed(job: _LogJob, error: SelfplayError) -> Logged:
    return Logged(why=f"could not be played: {error.message}")
