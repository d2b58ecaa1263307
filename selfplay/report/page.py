"""The page of one bug: what was broken and where, which tests see it, what the weakening hid."""

from collections.abc import Callable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from selfplay import patches
from selfplay.artifact import Artifact, Bug
from selfplay.formatting import count
from selfplay.report.tables import heading, safe, solve_lines, verdict_table
from selfplay.rl.credit.rewards import injector_reward
from selfplay.rollout.controls import CONTROLS

SHOWN_IDS = 20
SHOWN_LINES, SHOWN_FILES = 4_000, 200
"""The most lines of one diff: sensible bugs are shown whole, and `--json` has everything."""


def bug_page(
    bug: Bug, artifact: Artifact, attempt: str = "", solved: Mapping[str, Mapping[str, int]] | None = None
) -> RenderableType:
    """The whole page, for a rich console; `attempt` is the failed attempt in a second-order bug, `solved` how often
    each policy solved it, None when unknown. Raises `ArtifactError` or `PatchError` for a damaged bug."""
    verdicts = bug.recorded_verdicts()
    failed: list[RenderableType] = [heading("attempt.diff, which failed"), _coloured(attempt)]
    return Group(
        _heading(bug, solved),
        heading("what was broken"),
        _where(artifact.bug_inject),
        heading(f"tests that see it: {len(bug.fail_to_pass)}"),
        _ids(bug.fail_to_pass),
        *_part("what the weakening hid", artifact.test_weaken, _where),
        heading("bug_inject.diff"),
        _coloured(artifact.bug_inject),
        *_part("test_weaken.diff", artifact.test_weaken, _coloured),
        *(failed if attempt else ()),
        verdict_table("checks", verdicts),
    )


def _made_by(bug: Bug) -> str:
    """Which policy made it, or where it was imported from."""
    if bug.imported is None:
        return f"by {bug.policy}, seed {bug.seed}"
    return f"(imported: {bug.imported.instance[:200]!r}, a row of the form {bug.imported.form})"


def _part(title: str, diff: str | None, shown: Callable[[str], RenderableType]) -> tuple[RenderableType, ...]:
    """A part of the page about a diff that an imported task may lack."""
    return () if diff is None else (heading(title), shown(diff))


def _solved(solved: Mapping[str, Mapping[str, int]]) -> list[str]:
    """How often each policy solved the bug, and the injector's reward for that (SSR section 4)."""
    return [
        line if policy in CONTROLS else f"{line} (injector's reward {injector_reward(True, *found):+.2f})"
        for (policy, found), line in zip(_counts(solved).items(), solve_lines(solved), strict=True)
    ]


def _counts(solved: Mapping[str, Mapping[str, int]]) -> dict[str, tuple[int, int]]:
    """Policy -> how many attempts resolved it, and how many there are."""
    return {policy: (one["resolved"], one["attempts"]) for policy, one in solved.items()}


def _heading(bug: Bug, solved: Mapping[str, Mapping[str, int]] | None) -> Text:
    lineage = ""
    if bug.attempt:
        lineage = f", order 2: {bug.parent} and attempt {bug.attempt.number} of {bug.attempt.policy}"
    passing = count(len(bug.pass_to_pass), "still passes", "still pass")
    lines = [
        f"{bug.id}{lineage}",
        f"{bug.source} at {bug.revision} (tree {bug.tree_hash[:12]})",
        f"{bug.strategy} {_made_by(bug)}",
        f"{_failing(bug)}, {passing}, {len(bug.flaky)} flaky{_hidden(bug)}",
        *([] if solved is None else [f"solved: {', '.join(_solved(solved)) or 'no attempts yet'}"]),
    ]
    text = safe("\n".join(lines))
    text.stylize("bold", 0, len(lines[0]))
    return text


def _failing(bug: Bug) -> str:
    return count(len(bug.fail_to_pass), "test fails", "tests fail")


def _hidden(bug: Bug) -> str:
    count = len(set(bug.hidden) & set(bug.fail_to_pass))
    return f", {count} hidden from the solver" if count else ""


def _where(diff: str) -> Text:
    """One line per file: its name, what happened to it, and the function names in git's hunk headers."""
    lines = []
    sections = patches.parse(diff)
    for section in sections[:SHOWN_FILES]:
        around = list(dict.fromkeys(hunk.section.strip() for hunk in section.hunks if hunk.section.strip()))
        functions = f"  in {', '.join(around[:4])}" if around else ""
        lines.append(f"{section.path}: {section.kind}, -{section.removed} +{section.added}{functions}")
    if len(sections) > SHOWN_FILES:
        lines.append(f"... and {count(len(sections) - SHOWN_FILES, 'more file')}")
    return safe("\n".join(lines))


def _ids(ids: Sequence[str]) -> Text:
    more = [f"... and {len(ids) - SHOWN_IDS} more"] if len(ids) > SHOWN_IDS else []
    return safe("\n".join([*ids[:SHOWN_IDS], *more]))


def _coloured(diff: str) -> Text:
    page = Text()
    lines = diff.split("\n")
    for line in lines[:SHOWN_LINES]:
        page.append(safe(line.expandtabs(4)).plain + "\n", style=_style(line))
    if len(lines) > SHOWN_LINES:
        page.append(f"... and {count(len(lines) - SHOWN_LINES, 'more line')}\n", style="bold")
    return page


def _style(line: str) -> str:
    if line.startswith(("diff --git", "--- ", "+++ ", "index ")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
