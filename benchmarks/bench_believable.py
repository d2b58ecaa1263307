"""Would a maintainer believe the bugs of finished runs? The figures of size, of what gives a bug away, and of
weakening.

`python -m benchmarks.bench_believable RUN... [--faults] [--json]`; `--faults` names what speaks against each bug.

Names are judged by ruff (rules F821 to F823, F401, F811 and F841), which is not what the gate itself uses: what it says
of the original is not counted. A hunk is one of `git diff`, with three lines of context. A test is hidden when the
weakening changes or removes its function; it is loosened when the function is still there. Only tests with at least two
assertions count for that share: nothing of a test with one is left when its assertion goes.
"""

import argparse
import ast
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import Figure, Sheet, at_least, at_most, report
from selfplay import patches
from selfplay.believable.product import is_product
from selfplay.believable.stubs import stubs
from selfplay.export.bug_selection import BugSelection
from selfplay.export.pools import collect
from selfplay.patches.applied import applied

UNDEFINED, UNUSED = ("F821", "F822", "F823"), ("F401", "F811", "F841")
LINES, LOOSE, HUNKS, LOOSENED, FILES = 6, 5, 30, 50, 15
"""What is asked for: median changed lines at least, then shares in percent."""


@dataclass(frozen=True)
class Read:
    """What was found in one bug. `hidden`: for each hidden test with several assertions, whether it was loosened."""

    bug: str
    lines: int
    hunks: int
    files: int
    undefined: tuple[str, ...]
    unused: tuple[str, ...]
    empty: tuple[str, ...]
    outside: bool
    hidden: tuple[bool, ...]
    statement: str


def sides(original: Path, diff: str) -> Iterator[tuple[str, str, str]]:
    """(path, text before, text after) of each file of a diff."""
    for section in patches.parse(diff):
        before = (original / section.old_path).read_text("utf-8") if section.old_path else ""
        yield section.path, before, applied(before, section) if section.new_path else ""


def said(text: str, path: str) -> set[tuple[str, str]]:
    """What ruff says of the names in a source: (rule, message)."""
    rules = ",".join((*UNDEFINED, *UNUSED))
    told = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "--isolated", "--no-cache", "--output-format=json", f"--select={rules}",
         f"--stdin-filename={path}", "-"],
        input=text, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return {(str(one["code"]), str(one["message"])) for one in json.loads(told.stdout)}


def tests(text: str) -> dict[str, tuple[str, int]]:
    """Dotted name of a test function -> what it is, and how many assertions it has."""
    found: dict[str, tuple[str, int]] = {}
    waiting: list[tuple[str, ast.AST]] = [("", ast.parse(text))]
    while waiting:
        where, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            name = f"{where}{child.name}" if isinstance(child, ast.FunctionDef | ast.ClassDef) else where.rstrip(".")
            waiting.append((f"{name}." if name else "", child))
            if isinstance(child, ast.FunctionDef) and child.name.startswith("test"):
                found[name] = ast.dump(child), sum(map(is_assertion, ast.walk(child)))
    return found


def is_assertion(node: ast.AST) -> bool:
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    return isinstance(node, ast.Assert) or (called and node.func.attr.startswith(("assert", "raises")))  # type: ignore[attr-defined]


def loosened(original: Path, weakening: str) -> Iterator[bool]:
    """For each hidden test with several assertions: is it still there?"""
    for _, before, after in sides(original, weakening):
        was, now = tests(before), tests(after)
        for name, (what, assertions) in was.items():
            if assertions > 1 and now.get(name, ("", 0))[0] != what:
                yield name in now


def read(folder: Path, original: Path) -> Read:
    """What is found in the bug of a folder."""
    diff, weakening = ((folder / name).read_text("utf-8") for name in ("bug_inject.diff", "test_weaken.diff"))
    sections = patches.parse(diff)
    new: set[tuple[str, str]] = set()
    empty: list[str] = []
    for path, before, after in sides(original, diff):
        if path.endswith(".py"):
            new |= said(after, path) - said(before, path)
            empty += stubs(before, after)
    return Read(
        folder.name,
        sum(section.added + section.removed for section in sections),
        sum(len(section.hunks) for section in sections),
        len(sections),
        tuple(sorted(text for code, text in new if code in UNDEFINED)),
        tuple(sorted(text for code, text in new if code in UNUSED)),
        tuple(empty),
        any(not is_product(section.path) for section in sections),
        tuple(loosened(original, weakening)),
        "\n".join(f"{s.path} {h.lines}" for s in patches.parse(weakening) for h in s.hunks),
    )


def read_all(run: Path) -> Iterator[Read]:
    """What is found in the bugs of a run, of one repository or of many."""
    for one in collect([run], BugSelection()).bugs:
        yield read(run / "bugs" / one.bug.id, one.original)


def share(values: Sequence[bool]) -> float:
    return 100 * sum(values) / max(1, len(values))


def sheet(title: str, found: Sequence[Read]) -> Sheet:
    hidden = [one for each in found for one in each.hidden]
    loose = [bool(one.undefined or one.empty) for one in found]
    return Sheet(
        title,
        (
            Figure("bugs", len(found), ""),
            at_least("changed lines, median", statistics.median(one.lines for one in found), LINES, ""),
            at_most("with a new undefined name, or a body or block that was emptied", share(loose), LOOSE, "%"),
            Figure("with a new import or local that nothing uses", share([bool(one.unused) for one in found]), "%"),
            at_least("with two or more hunks", share([one.hunks > 1 for one in found]), HUNKS, "%"),
            at_least("over two or more files", share([one.files > 1 for one in found]), FILES, "%"),
            Figure("hidden tests with two or more assertions", len(hidden), ""),
            at_least("of these loosened, not deleted", share(hidden), LOOSENED, "%"),
            at_most("outside the product", share([one.outside for one in found]), 0, "%"),
            at_most("with the task of an earlier one", len(found) - len({one.statement for one in found}), 0, ""),
        ),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of finished runs")
    parser.add_argument("--faults", action="store_true", help="name what speaks against each bug")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    chosen = parser.parse_args()
    found = {run: [*read_all(run)] for run in chosen.runs}
    every = [one for each in found.values() for one in each]
    sheets = [sheet(run.name, each) for run, each in found.items()]
    report([*sheets, sheet("all", every)] if len(sheets) > 1 else sheets, chosen.json)
    for one in every if chosen.faults else ():
        print(one.bug, "; ".join([*one.undefined, *one.unused, *one.empty, *["outside"] * one.outside]) or "-")


if __name__ == "__main__":
    main()
