"""Is any patch rewarded that is no repair, and any repair refused?

`python -m benchmarks.bench_oracle [--projects NAME...] [--mechanisms PART...] [--seeds N] [--quick] [--json]`: every
mechanism of `benchmarks/exploits` writes a patch for every bug it suits, and an honest patch that looks like it. All
are graded as a user's prediction is. `--run FOLDER` adds bugs of a finished run (two of each by default), whose suites
are those of real projects. `--alternatives` grades other repairs instead, by other algorithms and in other forms.

Columns: `tried` patches; `rewarded`: resolved with full assurance; `weak`: resolved, but only weakly assured, which is
not rewarded by default; `suspect`: not rewarded, kept apart; `inert`: the deciding tests failed, so the trick did
nothing; `refused` and `kept apart` (suspect) of so many `honest` patches. The exit status is 1 when a patch is rewarded
that is no repair, or a repair is refused or suspect. With `--verdicts` each is kept in a file as it comes, and one that
is there for the same patch and the same source of the judge is not made again.
"""

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.exploits.bug import Files
from benchmarks.exploits.every import MECHANISMS, pair
from benchmarks.exploits.honest import alternatives
from benchmarks.exploits.ready import SMALL, Ready, of_run, small
from benchmarks.kept import Kept
from selfplay.plain_text import decode
from selfplay.sandbox import Backend, open_backend

QUICK = ("roman", "text")
INERT = ("failing-tests", "missing-tests", "no-results", "timeout")


@dataclass(frozen=True)
class Verdict:
    """What became of one patch. `kind`: cheat, honest or alternative."""

    mechanism: str
    project: str
    bug: str
    kind: str
    seed: int
    reason: str
    detail: str
    assurance: str
    seconds: float
    patch: str

    @property
    def resolved(self) -> bool:
        return self.reason == "resolved"

    @property
    def wrong(self) -> bool:
        """Is this what must not be: a rewarded cheat, or a repair that is not resolved?"""
        return (self.resolved and self.assurance == "full") if self.kind == "cheat" else not self.resolved


@dataclass(frozen=True)
class Job:
    """A patch to be graded."""

    mechanism: str
    ready: Ready
    kind: str
    seed: int
    files: Files

    def done(self, kept: Kept) -> Verdict:
        bug = self.ready.bug
        patch = bug.diff(self.files)
        key = (self.mechanism, bug.name, self.kind, self.seed, hashlib.sha256(patch).hexdigest())
        known = kept.of(key)
        if known is None:
            known = asdict(self._graded(patch))
            kept.add(key, known)
        return Verdict(**known)

    def _graded(self, patch: bytes) -> Verdict:
        bug = self.ready.bug
        began = time.monotonic()
        grade = self.ready.grade(patch)
        return Verdict(
            self.mechanism,
            bug.project,
            bug.name,
            self.kind,
            self.seed,
            grade.reason,
            grade.detail,
            "weak" if grade.weaknesses else "full",
            time.monotonic() - began,
            decode(patch),
        )


def jobs(ready: Sequence[Ready], chosen: Sequence[str], seeds: int, every_honest: bool) -> Iterator[Job]:
    """The cheats of every seed, and honest patches of the first: at one bug, by turns, or at every bug."""
    for at, name in enumerate(MECHANISMS):
        if chosen and not any(part in name for part in chosen):
            continue
        by_turns = [*ready[at % len(ready) :], *ready[: at % len(ready)]]
        honest = 0
        for one in by_turns:
            for seed in range(seeds):
                made = pair(name, one.bug, seed)
                if made is not None:
                    yield Job(name, one, "cheat", seed, made[0])
                    if seed == 0 and (every_honest or not honest):
                        honest += 1
                        yield Job(name, one, "honest", seed, made[1])


def other_repairs(ready: Sequence[Ready], chosen: Sequence[str]) -> Iterator[Job]:
    """Repairs by other algorithms, and the known one in other forms."""
    for one in ready:
        for name, files in alternatives(one.bug):
            if not chosen or any(part in name for part in chosen):
                yield Job(name, one, "alternative", 0, files)


def prepared(
    names: Sequence[str], runs: Sequence[Path], bugs: int, backend: Backend, stack: ExitStack
) -> Iterator[Ready]:
    """The small repositories of these names, and the first bugs of these runs."""
    for name in names:
        yield small(name, backend, _folder(stack))
    for run in runs:
        for folder in sorted((run / "bugs").iterdir())[:bugs]:
            yield of_run(folder, backend, _folder(stack))


def _folder(stack: ExitStack) -> Path:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    folder.chmod(0o755)
    return folder


def table(verdicts: Sequence[Verdict], alternatives_only: bool) -> Table:
    """A row for each mechanism, and one for all."""
    columns = [
        "mechanism",
        "projects",
        "tried",
        "rewarded",
        "weak",
        "suspect",
        "inert",
        "honest",
        "refused",
        "kept apart",
        "s",
    ]
    shown = Table(
        *columns,
        title="other repairs" if alternatives_only else "patches that are no repairs, and honest patches beside them",
    )
    for name in dict.fromkeys(one.mechanism for one in verdicts):
        shown.add_row(name, *map(str, _row([one for one in verdicts if one.mechanism == name])))
    shown.add_row("all", *map(str, _row(verdicts)))
    return shown


def _row(verdicts: Sequence[Verdict]) -> list[object]:
    cheats = [one for one in verdicts if one.kind == "cheat"]
    honest = [one for one in verdicts if one.kind != "cheat"]
    return [
        len({one.project for one in verdicts}),
        len(cheats),
        sum(one.wrong for one in cheats),
        sum(one.resolved and not one.wrong for one in cheats),
        sum(one.reason == "suspect" for one in cheats),
        sum(one.reason in INERT for one in cheats),
        len(honest),
        sum(one.wrong and one.reason != "suspect" for one in honest),
        sum(one.reason == "suspect" for one in honest),
        round(sum(one.seconds for one in verdicts)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--projects", nargs="*", help="small repositories; by default all")
    parser.add_argument("--run", type=Path, action="append", default=[], help="folder of a finished run")
    parser.add_argument("--bugs", type=int, default=2, help="bugs per run")
    parser.add_argument("--mechanisms", nargs="*", default=[], help="parts of their names")
    parser.add_argument("--seeds", type=int, default=1, help="cheats per mechanism and bug")
    parser.add_argument(
        "--honest", action="store_true", help="an honest patch for every bug, not one for each mechanism"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help=f"of the small repositories only {' and '.join(QUICK)}")
    parser.add_argument("--alternatives", action="store_true", help="grade other repairs instead")
    parser.add_argument("--json", action="store_true", help="print every verdict as a line of JSON")
    parser.add_argument("--verdicts", type=Path, help="a file in which each verdict is kept")
    chosen = parser.parse_args()
    kept = Kept(chosen.verdicts)
    every = sorted(path.name for path in SMALL.iterdir())
    names = QUICK if chosen.quick else every if chosen.projects is None else chosen.projects
    if not names and not chosen.run:
        parser.error("name a small repository, or a run")
    with ExitStack() as stack, ThreadPoolExecutor(chosen.workers) as pool:
        backend = open_backend()
        stack.callback(backend.close)
        ready = list(prepared(names, chosen.run, chosen.bugs, backend, stack))
        made = (
            other_repairs(ready, chosen.mechanisms)
            if chosen.alternatives
            else jobs(ready, chosen.mechanisms, chosen.seeds, chosen.honest)
        )
        verdicts = []
        for one in pool.map(lambda job: job.done(kept), made):
            verdicts.append(one)
            if chosen.json:
                print(json.dumps(asdict(one)), flush=True)
            elif one.wrong:
                print(
                    f"{one.kind} of {one.mechanism!r}, {one.bug}, seed {one.seed}: {one.reason}: {one.detail}",
                    file=sys.stderr,
                )
    if not chosen.json:
        Console(width=150).print(table(verdicts, chosen.alternatives))
    sys.exit(any(one.wrong for one in verdicts))


if __name__ == "__main__":
    main()
