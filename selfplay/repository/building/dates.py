"""Chooses the day as of which an environment is built, so that dependencies and test tools fit the age of the release
or commit.

A project's tests were written for the versions of their time; with today's versions they may not even be collected.
Packages released together with it may be uploaded a little later.
"""

from datetime import UTC, date, datetime, timedelta

COMPANIONS = timedelta(days=2)


def last_day(dated: str, today: date | None = None) -> str:
    """The last upload day to use for a source of the day `dated`; empty (any day) without a date and for a recent one.
    The date is untrusted."""
    try:
        day = date.fromisoformat(dated) + COMPANIONS
    except (ValueError, OverflowError):
        return ""
    return day.isoformat() if day < (today or datetime.now(UTC).date()) and day.year >= 2000 else ""
