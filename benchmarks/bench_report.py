"""The report of a run of 2,000 bugs: seconds to write it, its size, and how soon it can be used in a real browser.

`.venv-interop/report/bin/python -m benchmarks.bench_report RUN [--bugs 2000] [--keep FILE]` (`make interop` makes that
environment) multiplies the bugs, attempts and episodes of RUN, a real run. In each copy a part of the words of its
diffs is exchanged for other words of the same repository, so that copies compress no better than different bugs do. A
bug that nobody attempted gets attempts at another one.
"""

import argparse
import hashlib
import os
import random
import re
import resource
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.figures import Figure, Sheet, at_most, report
from selfplay.artifact import Artifact, Bug, load
from selfplay.artifact.bug import FailedAttempt
from selfplay.commands.report import ReportOrder, write_report
from selfplay.curriculum import Attempt, Curriculum, EpisodeRecord, Promotion, open_curriculum, read_pool

EXCHANGED = 0.3
"""Share of the words of a changed line that are exchanged."""
_WORD = re.compile(r"[A-Za-z_]{4,}")
Child = tuple[Bug, Artifact]


@dataclass(frozen=True)
class Source:
    """What is multiplied: the episodes that made bugs, with their artifacts, attempts and second-order bugs."""

    run: Path
    made: list[tuple[EpisodeRecord, Artifact, list[Attempt], list[Child]]]
    words: list[str]


def source_of(run: Path) -> Source:
    """Everything of a real run. Raises `SelfplayError` where it is none."""
    with read_pool(run) as pool:
        attempts, children = list(pool.attempts.all()), pool.attempts.bugs()
        made = []
        for record in pool.episodes.with_bugs():
            if record.bug is None:
                continue
            own = [one for one in attempts if one.bug == record.bug.id] or attempts[:4]
            kids = [(bug, load(run / "bugs" / bug.id)) for bug in children if bug.parent == record.bug.id]
            made.append((record, load(run / "bugs" / record.bug.id), own, kids))
    text = " ".join(artifact.bug_inject + (artifact.test_weaken or "") for _, artifact, *_ in made)
    return Source(run, made, sorted(set(_WORD.findall(text))))


def multiplied(source: Source, folder: Path, bugs: int) -> None:
    """A run of so many bugs of both orders in `folder`."""
    number = total = 0
    with open_curriculum(folder) as pool:
        (folder / "trajectories").mkdir()
        while total < bugs:
            total += _one_more(pool, source, number, bugs - total)
            number += 1


def _one_more(pool: Curriculum, source: Source, number: int, room: int) -> int:
    """Another copy of a bug with its attempts and, while there is room, its children. Returns how many bugs that is."""
    record, artifact, attempts, children = source.made[number % len(source.made)]
    chance = random.Random(number)
    assert record.bug is not None
    bug, artifact = _renamed(record.bug, artifact, number, source, chance)
    tape = f"{number:06d}-injector.jsonl.zst"
    _copied(source.run, pool.folder, record.trajectory, tape)
    figures = record.figures.model_copy(update={"task": f"task {number}"})  # as its tree: else it is a duplicate
    made = replace(record, number=number, bug=bug, artifact=artifact, tree_key=f"tree {number}", figures=figures)
    pool.episodes.store(replace(made, trajectory=tape))
    pool.episodes.take(number + 1, repository=record.repository)
    for one in attempts:
        tape = f"{bug.id}-{one.number}.jsonl.zst"
        _copied(source.run, pool.folder, one.trajectory, tape)
        pool.attempts.add(replace(one, bug=bug.id, diff=_exchanged(one.diff, source.words, chance), trajectory=tape))
    for place, (child, files) in enumerate(children[: room - 1]):
        _promote(pool, source, bug, child, files, place, chance)
    return 1 + min(len(children), room - 1)


def _promote(
    pool: Curriculum, source: Source, parent: Bug, child: Bug, files: Artifact, place: int, chance: random.Random
) -> None:
    fix = _exchanged(files.bug_inject, source.words, chance)
    assert child.attempt is not None
    made_of = FailedAttempt(policy=child.attempt.policy, number=place, sha256=hashlib.sha256(fix.encode()).hexdigest())
    renamed, files = _renamed(child, files, place, source, chance)
    bug = renamed.model_copy(
        update={"id": f"{parent.id}.{place}", "parent": parent.id, "root": parent.id, "attempt": made_of}
    )
    pool.attempts.add_promotion(Promotion(parent.id, made_of.policy, place, "promoted", bug.id, bug), files, fix)


def _renamed(bug: Bug, artifact: Artifact, number: int, source: Source, chance: random.Random) -> tuple[Bug, Artifact]:
    files = replace(
        artifact, bug_inject=_exchanged(artifact.bug_inject, source.words, chance),
        test_weaken=_exchanged(artifact.test_weaken or "", source.words, chance),
    )  # fmt: skip
    update = {"id": f"{bug.id[:100]}.{number}", "content_hash": files.content_hash()}
    return bug.model_copy(update=update), files


def _exchanged(diff: str, words: Sequence[str], chance: random.Random) -> str:
    """A diff with other words in its lines; what git says of files and places stays."""

    def line(text: str) -> str:
        if text[:1] not in ("+", "-", " ") or text.startswith(("+++ ", "--- ")):
            return text
        return _WORD.sub(lambda found: chance.choice(words) if chance.random() < EXCHANGED else found[0], text)

    return "\n".join(map(line, diff.split("\n")))


def _copied(run: Path, folder: Path, name: str, new: str) -> None:
    if name and (run / "trajectories" / name).exists():
        shutil.copyfile(run / "trajectories" / name, folder / "trajectories" / new)


def opened(file: Path) -> dict[str, float]:
    """Seconds from asking for the page to its overview, from there to a list of all bugs, a filtered one, a bug."""
    from playwright.sync_api import sync_playwright  # of the environment that `make test-interop-report` makes

    found: dict[str, float] = {}
    program = os.environ.get("SELFPLAY_CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"] if not os.geteuid() else [])
        page = browser.new_page()
        before = time.perf_counter()
        page.goto(file.as_uri())
        page.wait_for_selector("html[data-ready]")
        page.wait_for_selector(".tiles")
        found["the overview can be used after"], before = time.perf_counter() - before, time.perf_counter()
        page.keyboard.press("b")
        page.wait_for_selector(".gallery tbody tr:nth-child(60)")
        found["the gallery after"], before = time.perf_counter() - before, time.perf_counter()
        page.keyboard.press("/")
        page.locator("#filter-solved").select_option("never")
        page.wait_for_function("/ of /.test(document.getElementById('count').textContent)")
        found["a filter of it after"], before = time.perf_counter() - before, time.perf_counter()
        page.locator(".gallery .row-link").first.click()
        page.wait_for_selector("table.diff")
        found["a bug with its diffs after"] = time.perf_counter() - before
        browser.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a real run, of both orders")
    parser.add_argument("--bugs", type=int, default=2000)
    parser.add_argument("--keep", type=Path, help="keep the page here")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        run, file = Path(name, "run"), words.keep or Path(name, "page.html")
        multiplied(source_of(words.run), run, words.bugs)
        before, core = time.perf_counter(), time.process_time()
        write_report(ReportOrder(run, file), lambda line: None)
        took, core = time.perf_counter() - before, time.process_time() - core
        figures = [
            at_most(f"size of the page of {words.bugs} bugs", file.stat().st_size / 1e6, 15, "MB"),
            Figure("seconds to write it", took, "s"), Figure("core seconds", core, "s"),
            Figure("peak memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MiB"),
            *(at_most(what, seconds, 2, "s") for what, seconds in opened(file).items()),
        ]  # fmt: skip
    report([Sheet("report", tuple(figures))], words.json)


if __name__ == "__main__":
    main()
