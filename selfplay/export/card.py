"""The card of a dataset (`README.md`): metadata for `datasets`, and what a person needs to know before using it."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from selfplay.artifact import Bug
from selfplay.export.columns import ENTITY, Kind
from selfplay.export.pools import Collected, PoolBug
from selfplay.formatting import count, listed
from selfplay.validators import CHECKS
from selfplay.version import VERSION

NO_LICENCE = "none stated"
_TYPES = {"string": "string", "int64": "int64", "float64": "float64"}
CHECKED = (
    "passed {checks} checks in a sandbox, as its run records: its test files exist, its parser reads the log, its tests"
    " pass on the original, its size is bounded, it makes tests fail, the weakening hides them, each changed file"
    " matters, and repeated runs agree. `ssr_validation` has the verdicts of each."
)


def card(form: str, files: Mapping[str, str], columns: Mapping[str, Kind], found: Collected, sizes: Mapping[str, int],
         notes: Sequence[str]) -> str:  # fmt: skip
    """`files`: split -> name of its file; `sizes`: split -> rows; `notes`: how to use the format's tool."""
    bugs = found.bugs
    lines = [
        *_front(files, columns, bugs),
        f"# {count(len(bugs), 'bug')} by self-play, for {form}",
        "",
        f"Made by selfplay {VERSION}. {_checked([one.bug for one in bugs])}",
        "",
        *_tables(bugs),
        "## Repositories",
        "",
        "| repository | revision | licence | bugs |",
        "|---|---|---|---|",
        *_repositories(bugs),
        "",
        "Code of a repository stays under its licence. `none stated` means that its metadata and its files name none:"
        " ask before passing its code on.",
        "",
        "## Use",
        "",
        *notes,
        "",
        "`predictions/gold.jsonl` holds the repairs, `predictions/empty.jsonl` nothing for each bug; `MANIFEST.sha256`"
        " the sums of all files. `python build_images.py` builds the images that the rows name.",
        "",
        f"Splits: {', '.join(f'{name} {size}' for name, size in sizes.items())}, by repository.",
        f"Seeds: {_listed(bugs, 'seed')}. Policies: {_listed(bugs, 'policy')}.",
        f"Versions: {_versions(bugs)}.",
        "",
        *_left_out(found),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _front(files: Mapping[str, str], columns: Mapping[str, Kind], bugs: Sequence[PoolBug]) -> list[str]:
    """The block that `datasets` reads: which file is which split, and the types of the columns."""
    licences = {one.licence for one in bugs}
    return [
        "---",
        f"license: {'other' if len(licences) != 1 or None in licences else json.dumps(_tag(licences.pop()))}",
        "configs:",
        "- config_name: default",
        "  data_files:",
        *(f"  - split: {split}\n    path: {name}" for split, name in files.items()),
        "dataset_info:",
        "  features:",
        *(_feature(name, kind) for name, kind in columns.items()),
        "---",
        "",
    ]


def _tag(licence: str | None) -> str:
    return (licence or "other").lower()


def _feature(name: str, kind: Kind) -> str:
    if kind == "entities":
        fields = (f"    - name: {field}\n      dtype: {inner}" for field, inner in ENTITY.items())
        return "\n".join([f"  - name: {name}", "    list:", *fields])
    return f"  - name: {name}\n    " + ("list: string" if kind == "list" else f"dtype: {_TYPES[kind]}")


def _checked(bugs: Sequence[Bug]) -> str:
    """How many bugs have a record of all checks; an imported task has none."""
    passed = sum(
        CHECKS.keys() <= {verdict.get("check") for verdict in bug.verdicts if verdict.get("passed") is True}
        for bug in bugs
    )
    told = CHECKED.format(checks=len(CHECKS))
    if passed == len(bugs):
        return f"Each bug {told}"
    return f"Of {count(len(bugs), 'bug')} {passed} {told} Of the others no run records that."


def _tables(bugs: Sequence[PoolBug]) -> list[str]:
    lines: list[str] = []
    for title, values in (
        ("strategy", [one.bug.strategy for one in bugs]),
        ("order", [str(one.bug.order) for one in bugs]),
        ("language", [one.language for one in bugs]),
        ("solve rate", [_rate(one.solve_rate) for one in bugs]),
    ):
        lines += [f"| {title} | bugs |", "|---|---|"]
        lines += [f"| {_cell(value)} | {number} |" for value, number in sorted(Counter(values).items())]
        lines.append("")
    return lines


def _rate(rate: float | None) -> str:
    if rate is None:
        return "not attempted"
    if rate in (0.0, 1.0):
        return f"{rate:.1f}"
    return f"between {int(rate * 5) / 5:.1f} and {int(rate * 5) / 5 + 0.2:.1f}"


def _repositories(bugs: Sequence[PoolBug]) -> list[str]:
    counted = Counter((one.bug.source, one.bug.revision, one.licence or NO_LICENCE) for one in bugs)
    return [
        f"| {_cell(source)} | {_cell(revision)} | {_cell(licence)} | {number} |"
        for (source, revision, licence), number in sorted(counted.items())
    ]


def _versions(bugs: Sequence[PoolBug]) -> str:
    return listed(sorted({_cell(f"{name} {text}") for one in bugs for name, text in one.bug.versions.items()}))


def _listed(bugs: Sequence[PoolBug], name: str) -> str:
    known = {getattr(one.bug, name) for one in bugs} - {None}
    return listed(sorted(_cell(str(value)) for value in known)) or "none told"


def _left_out(found: Collected) -> list[str]:
    if not found.damaged and not found.left_out:
        return []
    lines = ["## Left out", ""]
    lines += [f"- {count} {why}" for why, count in sorted(found.left_out.items())]
    return lines + [f"- {_cell(bug)}: {_cell(why)}" for bug, why in sorted(found.damaged.items())]


def _cell(text: str) -> str:
    """An untrusted text as one line without markup."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    return re.sub(r"([\\|\[`])", r"\\\1", plain).replace("<", "&lt;")[:300]
