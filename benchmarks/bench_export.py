"""How long does a large dataset take, and how much room?

`python -m benchmarks.bench_export RUN [--bugs N] [--formats F...] [--parquet] [--json]`: a pool of N bugs, which
are the bugs of a finished run again and again with another line in their scripts and diffs, exported in each format.
Targets: ten thousand bugs in a minute and 500 MB.
"""

import argparse
import os
import re
import sqlite3
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import cycle, islice
from pathlib import Path
from shutil import copytree

from benchmarks.figures import Figure, Sheet, at_most, report_each
from selfplay.artifact import Artifact, save, save_bug
from selfplay.commands.export import ExportOrder, run_export
from selfplay.curriculum import open_curriculum
from selfplay.curriculum.stored_bugs import bug_folders, read_bug
from selfplay.curriculum.untrusted_sqlite import DATABASE
from selfplay.export.formats import FORMS

BUGS, SECONDS, MEGABYTES = 10_000, 60.0, 500.0


def large_pool(run: Path, folder: Path, count: int) -> None:
    """A pool of so many bugs, all of first order: a second-order bug is exported only beside its parent. Its rows are
    written at once: one transaction a bug would take longer than the export."""
    with open_curriculum(folder):
        copytree(run / "original", folder / "original", symlinks=True)
    rows, bugs = [], []
    made = [(bug, artifact) for bug, artifact, _ in map(read_bug, bug_folders(run)) if bug.parent is None]
    for number, (known, artifact) in enumerate(islice(cycle(made), count)):
        artifact = _numbered(artifact, number)
        hashed = artifact.content_hash()
        bug = known.model_copy(update={"id": f"{known.id}.{number}", "content_hash": hashed})
        save(artifact, folder / "bugs" / bug.id)
        save_bug(bug, folder / "bugs" / bug.id)
        rows.append((number, bug.strategy, str(number), bug.model_dump_json(), number + 1))
        bugs.append((bug.id, number, str(number)))
    database = sqlite3.connect(folder / DATABASE)
    with database:
        database.execute("INSERT INTO repositories VALUES ('', '{}')")
        database.executemany(
            "INSERT INTO episodes (repository, number, strategy, status, reason, tree_key, bug, figures, taken)"
            " VALUES ('', ?, ?, 'valid', '', ?, ?, '{}', ?)",
            rows,
        )
        database.executemany("INSERT INTO bugs (repository, id, episode, tree_key) VALUES ('', ?, ?, ?)", bugs)
    database.close()


def _numbered(artifact: Artifact, number: int) -> Artifact:
    """Another artifact that works alike. Its diffs differ, too, or what is kept of the last ones would be of use to the
    next bug, as it is in no pool."""
    inject, weaken = (
        re.sub("^(@@ .* @@).*$", rf"\1 bug {number}", diff, count=1, flags=re.MULTILINE)
        for diff in (artifact.bug_inject, artifact.weakening)
    )
    script = f"{artifact.test_script}# {number}\n"
    return replace(artifact, test_script=script, bug_inject=inject, test_weaken=weaken)


def sheets(run: Path, count: int, forms: Sequence[str], parquet: bool) -> Iterator[Sheet]:
    with tempfile.TemporaryDirectory() as place:
        pool = Path(place, "pool")
        large_pool(run, pool, count)
        for form in forms:
            out = Path(place, form)
            started, core = time.monotonic(), core_seconds()
            done = run_export(ExportOrder((pool,), out, form, parquet=parquet))  # type: ignore[arg-type]
            seconds, core = time.monotonic() - started, core_seconds() - core
            size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) / 1e6
            share = count / BUGS
            yield Sheet(
                f"export of {sum(done.splits.values())} bugs as {form}{', in Parquet' if parquet else ''}",
                (
                    at_most("wall time", seconds, SECONDS * share, "s"),
                    Figure("core time", core, "s"),
                    at_most("size", size, MEGABYTES * share, "MB"),
                ),
            )


def core_seconds() -> float:
    """Of this process and of its children that ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="the folder of a finished run")
    parser.add_argument("--bugs", type=int, default=BUGS, help="bugs to export")
    parser.add_argument("--formats", nargs="+", choices=FORMS, default=["swebench"], help="formats")
    parser.add_argument("--parquet", action="store_true", help="tables as Parquet")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    chosen = parser.parse_args()
    report_each(sheets(chosen.run, chosen.bugs, chosen.formats, chosen.parquet), chosen.json)


if __name__ == "__main__":
    main()
