"""Finds the release that a commit claims to be, from names of tags, and its day. Inside only."""

from datetime import UTC, datetime

from packaging.version import Version

from selfplay.package_versions import version_of
from selfplay.repository.fetching.gitdir import GitDir, GitError


def version_from_tags(store: GitDir, tags: list[str], commit: str) -> str | None:
    """The newest release tagged in the fetched history of `commit`, else the newest release tagged at all. `tags`: as
    `ls-remote` lists them."""
    try:
        past = set(store.line("rev-list", commit).split())
    except GitError:
        return None
    named: dict[str, str] = {}
    for line in tags:
        oid, _, name = line.partition("\trefs/tags/")
        named[name.removesuffix("^{}")] = oid  # the peeled line of an annotated tag comes later and wins
    versions = {name: version for name in named if (version := _tag_version(name))}
    reached = [version for name, version in versions.items() if named[name] in past]
    best = max(reached or versions.values(), default=None)
    return str(best) if best else None


def day_of(store: GitDir, commit: str) -> str:
    """The day of the commit, as it states; empty if it states none."""
    try:
        return datetime.fromtimestamp(int(store.line("log", "-1", "--format=%ct", commit)), UTC).date().isoformat()
    except (GitError, ValueError, OverflowError, OSError):
        return ""


def _tag_version(name: str) -> Version | None:
    digits = name[next((at for at, character in enumerate(name) if character.isdigit()), len(name)) :]
    return version_of(digits)
