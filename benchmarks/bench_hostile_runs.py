"""Hostile run folders, each through the commands that open one: what each says, takes and leaves behind.

`python -m benchmarks.bench_hostile_runs [RUN]` changes copies of RUN, or of a run that it makes first. Promised: one
typed line, at most 200 MB and 5 s (of a core: other work on the machine does not count), nothing executed, nothing
outside touched.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.hostile import Case, Place, arguments, cases, prepare
from selfplay.sandbox.owners import remove

MOST_MIB, MOST_SECONDS = 200, 5.0


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, wall and core seconds, its peak memory in MiB, and what it said."""

    code: int
    seconds: float
    core: float
    mib: int
    out: str
    err: str

    @property
    def line(self) -> str:
        """The line that says what is wrong."""
        told = [line for line in self.err.splitlines() if line.startswith("selfplay: ")]
        return (told or [line for line in self.out.splitlines() if line] or [""])[-1 if not told else 0]


@dataclass(frozen=True)
class Row:
    """One command on one case. `faults`: the promises that were broken."""

    case: str
    command: str
    ended: Ended
    faults: tuple[str, ...]


class Commands:
    """Runs commands of this package in forks of one process (`command_server`), and measures each."""

    def __init__(self, env: dict[str, str]) -> None:
        argv = [sys.executable, "-m", "benchmarks.command_server"]
        self._server = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, text=True)

    def __call__(self, *arguments: object) -> Ended:
        assert self._server.stdin and self._server.stdout
        self._server.stdin.write(json.dumps([str(one) for one in arguments]) + "\n")
        self._server.stdin.flush()
        return Ended(*json.loads(self._server.stdout.readline()))

    def close(self) -> None:
        assert self._server.stdin
        self._server.stdin.close()
        self._server.wait()


def play(case: Case, finished: Path, place: Path, run: Commands, seed: int = 0) -> Iterator[Row]:
    """Every command of a case, and the report, on one changed copy of the run; `place` is a new folder, gone
    afterwards."""
    hostile = prepare(finished, place, seed)
    commands = {name: arguments(name, hostile) for name in (*case.refused, *case.tried, "report")}
    case.change(hostile)
    before = outside(hostile)
    for name, command in commands.items():
        ended = run(*command)
        yield Row(case.name, name, ended, tuple(_faults(ended, hostile, before, name in case.refused)))
    remove(place)


def outside(place: Place) -> str:
    """The state of the user's own files."""
    digest = hashlib.sha256()
    for path in sorted(place.outside.rglob("*")):
        digest.update(f"{path.relative_to(place.outside)} {path.lstat().st_mode}".encode())
        digest.update(path.read_bytes() if path.is_file() else b"")
    return digest.hexdigest()


def _faults(ended: Ended, place: Place, before: str, refused: bool) -> Iterator[str]:
    if "Traceback" in ended.err or ended.code not in (0, 1, 2):
        yield f"crashed ({ended.code})"
    if refused and not _typed(ended):
        yield f"not refused ({ended.code})"
    if "\x1b" in ended.out + ended.err or "\x07" in ended.out + ended.err:
        yield "an escape sequence reached the terminal"
    if ended.mib > MOST_MIB:
        yield f"{ended.mib} MiB"
    if ended.core > MOST_SECONDS:
        yield f"{ended.core:.1f} s"
    if place.mark.exists():
        yield "executed a stranger's program"
        place.mark.unlink()
    if outside(place) != before:
        yield "changed files outside"


def _typed(ended: Ended) -> bool:
    """Exit 2 with one line and its hint, or exit 1 with a verdict that something is not valid."""
    told = [line for line in ended.err.splitlines() if line.startswith("selfplay: ")]
    return (ended.code == 2 and len(told) == 1) or (ended.code == 1 and not told and bool(ended.out.strip()))


def table(rows: Iterable[Row]) -> Iterator[str]:
    """The table, a line a command."""
    yield "| case | command | exit | core s | MiB | what it says |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        said = row.ended.line.replace("|", "\\|")[:150]
        bad = f" **{', '.join(row.faults)}**" if row.faults else ""
        cells = (row.case, row.command, row.ended.code, f"{row.ended.core:.1f}", row.ended.mib, said + bad)
        yield f"| {' | '.join(map(str, cells))} |"


def main() -> None:
    """Print the table, and a line with the worst figures; exit 1 if a promise was broken."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    words = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        env = {**os.environ, "XDG_STATE_HOME": f"{name}/state", "NO_COLOR": "1"}
        finished = Path(words[0]) if words else _made(Path(name), env)
        rows, run = [], Commands(env)
        for number, case in enumerate(case for case in cases() if all(word in case.name for word in words[1:])):
            for row in play(case, finished, Path(name, str(number)), run):
                rows.append(row)
                print(list(table([row]))[-1], flush=True)
        run.close()
    wrong = sum(bool(row.faults) for row in rows)
    worst = max(row.ended.mib for row in rows), max(row.ended.core for row in rows)
    print(f"{len({row.case for row in rows})} cases, {len(rows)} commands, {wrong} broken promises,", end=" ")
    print(f"at most {worst[0]} MiB and {worst[1]:.1f} s")
    sys.exit(1 if wrong else 0)


def _made(place: Path, env: dict[str, str]) -> Path:
    """A run of two bugs."""
    command = ["curriculum", "pypi:sqlparse==0.5.3", "--out", str(place / "run"), "--bugs", "2"]
    subprocess.run([sys.executable, "-m", "selfplay", *command], env=env, check=True)
    return place / "run"


if __name__ == "__main__":
    main()
