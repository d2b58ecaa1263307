"""Reads a row of the table of injector episodes."""

from typing import Any

from selfplay.curriculum.records import EpisodeRecord, StoredEpisodeFigures, bug_of_row, read_row

COLUMNS = (
    "repository, number, strategy, status, reason, failed_check, tree_key, bug, figures, grp, policy,"
    " version_first, version_last, trajectory"
)


def record_of(row: tuple[Any, ...]) -> EpisodeRecord:
    """`row`: the values of `COLUMNS`. Raises `CurriculumError` for one that is damaged."""
    found = dict(zip((name.strip() for name in COLUMNS.split(",")), row, strict=True))
    return EpisodeRecord(
        repository=found["repository"],
        number=found["number"],
        strategy=found["strategy"],
        status=found["status"],
        reason=found["reason"],
        figures=read_row(StoredEpisodeFigures, found["figures"]),
        failed_check=found["failed_check"],
        tree_key=found["tree_key"],
        bug=bug_of_row(found["bug"]) if found["bug"] else None,
        group=found["grp"],
        policy=found["policy"],
        versions=(found["version_first"], found["version_last"]),
        trajectory=found["trajectory"],
    )
