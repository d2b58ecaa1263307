"""Reads a run for its page: a snapshot of its pool's rows, through the bounded readers.

Nothing in the run's folder changes: the pool is copied and opened from the copy. A bug with a damaged or incomplete
folder is left out and named; so are bug folders that the pool does not know.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from selfplay.agent.trajectory_file import load as load_trajectory
from selfplay.artifact import Bug
from selfplay.artifact.reading import UntrustedDataError, listed_below
from selfplay.curriculum import Attempt, Curriculum, EpisodeRecord
from selfplay.curriculum.solving import solves
from selfplay.curriculum.stored_bugs import trajectory_of
from selfplay.curriculum.summary import read_summary
from selfplay.errors import SelfplayError
from selfplay.loop.metrics import read_history
from selfplay.report.html import figures
from selfplay.report.html.bugs import by_bug, episode_name, first_order_row, second_order_row
from selfplay.report.html.curves import training
from selfplay.report.html.diffs import clean
from selfplay.report.html.episodes import MOST_OUTPUT, episode_value

MOST_PROBLEMS = 500


@dataclass
class Contents:
    """A run for its page. `index`: the values that are shown at once; `bugs` and `attempts`: the sources of details;
    `names`: the files of its episodes."""

    pool: Curriculum
    index: dict[str, Any]
    bugs: dict[str, Bug]
    attempts: dict[str, list[Attempt]]
    names: set[str] = field(default_factory=set)

    def leave_out(self, what: str, error: SelfplayError) -> None:
        """Name something that cannot be shown."""
        if len(self.index["problems"]) < MOST_PROBLEMS:
            self.index["problems"].append([clean(what), clean(f"{error.message} {error.hint}".strip())])
        self.index["left_out"] += 1

    def has_tape(self, name: str) -> bool:
        """Whether an episode's file is there: a run may be shared without its `trajectories/`."""
        return os.path.lexists(trajectory_of(self.pool.folder, name))

    def episode(self, name: str, most: int = MOST_OUTPUT) -> dict[str, Any]:
        """One of `names`, read. Raises `SelfplayError`."""
        return episode_value(load_trajectory(trajectory_of(self.pool.folder, name), linked=False), most)


def read_contents(pool: Curriculum) -> Contents:
    """The rows and figures of a run. Raises `SelfplayError` for a pool that is damaged."""
    records, attempts = pool.episodes.records(), list(pool.attempts.all(diffs=False))
    first = {one.bug.id: one.bug for one in records if one.bug is not None and one.status == "valid"}
    promotions = pool.attempts.promotions()
    second = {one.bug.id: one.bug for one in promotions if one.bug is not None}
    bugs, index = {**first, **second}, _head(pool)
    contents = Contents(pool, index, bugs, by_bug(attempts))
    index["problems"], index["left_out"] = [], 0
    index |= {
        "totals": figures.totals(records, attempts, len(second)), "yields": figures.yields(records),
        "checks": figures.checks(records), "reasons": figures.reasons(attempts),
        "rates": figures.solve_rates(attempts, {name: bug.order for name, bug in bugs.items()}),
        "promoted": figures.promoted(promotions), "usage": figures.usage(records, attempts), "bins": figures.BINS,
        "ends": figures.ENDS,
    }  # fmt: skip
    index["bugs"] = _rows(records, second, attempts)
    index["episodes"] = _episodes(pool, records, attempts)
    contents.names = {row[0] for row in index["episodes"]}
    _read_beside(contents)
    return contents


def _head(pool: Curriculum) -> dict[str, Any]:
    """The run's identity and cost."""
    costs = pool.costs()
    return {
        "name": clean(pool.folder.resolve().name)[:200],
        "policy": clean(pool.setting("policy", str, "scripted")),
        "repositories": [
            [clean(name), clean(str(facts.get("revision", "") if isinstance(facts, Mapping) else ""))]
            for name, facts in [*pool.repositories().items()][:100]
        ],
        "costs": [[clean(phase), round(wall, 1), round(core, 1)] for phase, (wall, core) in costs.items()][:50],
        "unplayed": {clean(job): clean(why) for job, why in [*pool.lost.unplayed().items()][:100]},
    }


def _rows(records: Sequence[EpisodeRecord], second: Mapping[str, Bug], attempts: Sequence[Attempt]) -> list[Any]:
    solved = solves(attempts)
    rows = {
        record.bug.id: first_order_row(record, record.bug, solved.get(record.bug.id, {}))
        for record in records
        if record.bug is not None and record.status == "valid"
    }
    for name, bug in second.items():
        rows[name] = second_order_row(bug, solved.get(name, {}), rows.get(bug.root or ""))
    return [*rows.values()]


def _episodes(pool: Curriculum, records: Sequence[EpisodeRecord], attempts: Sequence[Attempt]) -> list[list[Any]]:
    """A row for each episode: its file, role, bug, policy, number, result, reason, seconds and calls."""
    suffixes = {name: pool.episodes.suffix(name) for name in {record.repository for record in records}}
    found: list[list[Any]] = []
    for one in records:
        bug = one.bug.id if one.bug is not None and one.status == "valid" else ""
        known = not one.failed_check or one.reason.startswith(one.failed_check)
        reason = one.reason if known else f"{one.failed_check}: {one.reason}"
        name = episode_name(one, suffixes[one.repository])
        found.append([name, "injector", bug, clean(one.strategy), one.number, one.status, clean(reason)[:300],
                      round(one.figures.seconds, 1), one.figures.calls])  # fmt: skip
    for each in attempts:
        found.append([episode_name(each), "solver", each.bug, clean(each.policy), each.number,
                      "resolved" if each.resolved else "failed", clean(each.reason),
                      round(each.figures.seconds, 1), each.figures.calls])  # fmt: skip
    return found


def _read_beside(contents: Contents) -> None:
    """Read the files beside the pool: the summary, a training run's steps, unknown bug folders."""
    folder, index = contents.pool.folder, contents.index
    index |= {"wanted": 0, "stopped": "", "notes": [], "training": None}
    try:
        summary = read_summary(folder)
        index |= {
            "wanted": summary.get("wanted", 0), "stopped": clean(summary.get("stopped", "")),
            "notes": [clean(note) for note in summary.get("notes", [])[:50]],
        }  # fmt: skip
    except SelfplayError as error:
        contents.leave_out("summary.json", error)
    try:
        index["training"] = training(read_history(folder))
    except SelfplayError as error:
        contents.leave_out("metrics.jsonl", error)
    try:
        for name in listed_below(folder, "bugs"):
            if name not in contents.bugs:
                unknown = SelfplayError("The pool knows no such bug.", "A kill left it, or it was added by hand.")
                contents.leave_out(f"bugs/{name}", unknown)
    except UntrustedDataError as error:
        contents.leave_out("bugs", error)
