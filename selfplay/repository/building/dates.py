"""The day as of which an environment is built: dependencies and test tools of a release's or a commit's own time.

A project's tests were written for the versions of their day; with those of today they may not even be collected. What
is uploaded together with a release, its companions, may come a little later.
"""

from datetime import UTC, date, datetime, timedelta

COMPANIONS = timedelta(days=2)


def last_day(dated: str, today: date | None = None) -> str:
    """The last day of uploads to use for what is `dated` so; empty for any: for no date, and for what is new. The date
    is a stranger's word."""
    try:
        day = date.fromisoformat(dated) + COMPANIONS
    except (ValueError, OverflowError):
        return ""
    return day.isoformat() if day < (today or datetime.now(UTC).date()) and day.year >= 2000 else ""
