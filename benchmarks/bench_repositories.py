"""On how many well-known projects `selfplay curriculum` gives bugs, and why the others end.

`python -m benchmarks.bench_repositories --out FOLDER [--only NAME ...] [--kind KIND ...] [--limit SECONDS]
[--clones CLONES]`. The projects are those of `repositories.txt`. Each is run as a new user would, with a cache of its
own that is removed again. FOLDER keeps a line of each in `results.jsonl`, and its log: the same command goes on with
what is missing.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent.parent
PROJECTS = Path(__file__).with_name("repositories.txt")
BUGS, LIMIT, LEAVING = 3, 600.0, 60.0
"""Bugs asked for; seconds of a project; seconds that a stopped one gets to end by itself."""
COLUMNS = ("project", "outcome", "bugs", "seconds", "core_seconds", "sentence")


@dataclass(frozen=True)
class Project:
    """`kind`: python, javascript, go, or native (with an extension). `tuned`: it was looked at while mending."""

    kind: str
    source: str
    tuned: bool = False

    @property
    def name(self) -> str:
        return re.split(r"[:/]", self.source)[-1].partition("==")[0]


@dataclass(frozen=True)
class Result:
    """`outcome`: bugs (all that were asked for), few, none, or time (ended by the limit)."""

    project: str
    kind: str
    outcome: str
    bugs: int
    seconds: float
    core_seconds: float
    sentence: str
    tuned: bool = False


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="where results and logs are kept")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these projects alone")
    parser.add_argument("--kind", nargs="+", help="these kinds alone")
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds of each")
    parser.add_argument("--bugs", type=int, default=BUGS)
    parser.add_argument("--checkout", type=Path, default=HERE, help="another checkout of this project, to compare")
    parser.add_argument("--clones", type=Path, help="where clones lie by name, for want of a network")
    parser.add_argument("--keep", action="store_true", help="keep bugs and originals below OUT/runs")
    parser.add_argument("--stored", action="store_true", help="run nothing; print what is stored")
    parser.add_argument("--markdown", action="store_true", help="print the table as docs/repositories.md has it")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for project in chosen(projects(), args.only, args.kind):
        if not args.stored and project.name not in stored(args.out):
            chosen_bugs = args.out / "runs" / project.name if args.keep else None
            done = run(cloned(project, args.clones), args.out, args.limit, args.bugs, args.checkout, chosen_bugs)
            keep(args.out, done)
    known = list(stored(args.out).values())
    print(markdown(known)) if args.markdown else show(known)


def projects(text: str | None = None) -> list[Project]:
    lines = (PROJECTS.read_text() if text is None else text).splitlines()
    words = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return [Project(kind, source, "tuned" in rest) for kind, source, *rest in words]


def chosen(known: Sequence[Project], only: Sequence[str] | None, kinds: Sequence[str] | None) -> list[Project]:
    """Those that were asked for. A name that none has is an error."""
    unknown = set(only or ()) - {project.name for project in known}
    if unknown:
        sys.exit(f"no project of the list is called {', '.join(sorted(unknown))}")
    return [one for one in known if (not only or one.name in only) and (not kinds or one.kind in kinds)]


def cloned(project: Project, clones: Path | None) -> Project:
    """The project with its clone as the source, if there is one."""
    folder = clones and clones / project.name
    return replace(project, source=str(folder.resolve())) if folder and folder.is_dir() else project


def run(project: Project, out: Path, limit: float, bugs: int, checkout: Path, kept: Path | None = None) -> Result:
    """One curriculum, from nothing, ended after `limit` seconds. `kept`: where its bugs and original are copied."""
    print(f"{project.name} ...", file=sys.stderr, flush=True)
    log = out / f"{project.name}.log"
    with tempfile.TemporaryDirectory(prefix="bench") as folder, log.open("wb") as stream:
        words = [project.source, "--out", f"{folder}/run", "--bugs", str(bugs)]
        env = {**os.environ, "SELFPLAY_CACHE": f"{folder}/cache", "PYTHONPATH": str(checkout), "COLUMNS": "200"}
        began, used = time.monotonic(), core_seconds()
        process = subprocess.Popen(
            [sys.executable, "-m", "selfplay", "curriculum", *words],
            cwd=checkout, env=env, stdout=stream, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        over = ended(process, limit)
        seconds, cores = time.monotonic() - began, core_seconds() - used
        made = len(list(Path(folder, "run", "bugs").glob("*/bug.json")))
        if kept is not None and made:
            for name in ("bugs", "original"):
                shutil.copytree(Path(folder, "run", name), kept / name, symlinks=True, dirs_exist_ok=True)
    outcome = "bugs" if made >= bugs else "time" if over else "few" if made else "none"
    sentence = "" if outcome == "bugs" else said(log.read_text(errors="replace"), over)
    return Result(project.name, project.kind, outcome, made, round(seconds), round(cores), sentence, project.tuned)


def ended(process: subprocess.Popen[bytes], limit: float) -> bool:
    """Wait for the end, and bring it about after `limit` seconds; returns whether that was necessary."""
    try:
        process.wait(limit)
        return False
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
    try:
        process.wait(LEAVING)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    return True


def said(log: str, over: bool) -> str:
    """What the command said last: its error and its hint, or the last line before it was ended."""
    lines = [line for line in log.splitlines() if line.strip() and "interrupted" not in line]
    starts = [number for number, line in enumerate(lines) if line.startswith("selfplay: ")]
    if over or not starts:
        why = [line for line in lines if re.match(r"\d+ of \d+ bugs? \(", line)] if not over else lines
        return (why or lines or [""])[-1].strip()[:400]
    first, *rest = lines[starts[-1] :]
    hint = [line.strip() for line in rest if line.startswith("  ") and not line.startswith("   ")]
    return ". ".join([first.removeprefix("selfplay: "), *hint[-1:]])[:600]


def core_seconds() -> float:
    """Of all ended children and theirs."""
    times = os.times()
    return times.children_user + times.children_system


def keep(out: Path, result: Result) -> None:
    with (out / "results.jsonl").open("a") as stream:
        stream.write(json.dumps(asdict(result)) + "\n")


def stored(out: Path) -> dict[str, Result]:
    """Name -> its last result; a line that a kill cut off is left out."""
    path, found = out / "results.jsonl", dict[str, Result]()
    for line in path.read_text().splitlines() if path.exists() else ():
        try:
            result = Result(**json.loads(line))
        except (ValueError, TypeError):
            continue
        found[result.project] = result
    return found


def markdown(results: Sequence[Result]) -> str:
    """One row a project in the order of the list, and one a kind."""
    order = {project.name: at for at, project in enumerate(projects())}
    lines = ["| project | kind | bugs | seconds | core seconds | else |", "|---|---|---|---|---|---|"]
    for result in sorted(results, key=lambda result: order.get(result.project, len(order))):
        name = f"{result.project} (tuned)" if result.tuned else result.project
        cells = [name, result.kind, result.bugs, result.seconds, result.core_seconds, plain(result)]
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join([*lines, "", *sums(results)])


def plain(result: Result) -> str:
    """The sentence without places of the machine that it ran on."""
    said = re.sub(rf"/\S*/{re.escape(result.project)}\b", result.project, result.sentence)
    return re.sub(r" ?The whole log: .*", "", said).replace("|", "\\|")


def sums(results: Sequence[Result]) -> list[str]:
    """How many of each kind gave all bugs."""
    found = []
    for kind in dict.fromkeys(result.kind for result in results):
        of = [result for result in results if result.kind == kind]
        full = sum(result.outcome == "bugs" for result in of)
        found.append(f"{kind}: {full} of {len(of)} gave all bugs asked for")
    return found


def show(results: Sequence[Result]) -> None:
    table = Table(*COLUMNS)
    for result in results:
        table.add_row(*(str(getattr(result, column)) for column in COLUMNS))
    Console(width=200 if not sys.stdout.isatty() else None).print(table)
    print("\n".join(sums(results)))


if __name__ == "__main__":
    main()
