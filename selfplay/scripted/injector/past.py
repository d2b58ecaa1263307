"""A repository's history from `git log`: which commits changed which Python files."""

from collections.abc import Iterator

COMMITS = 200
"""How many commits back a survey looks."""


def log_command(commits: int, options: str = "") -> str:
    """The command that prints the last `commits` commits and the files of each, in the form `past_changes` reads."""
    which = f"--no-merges --no-renames -n {commits} {options}".rstrip()
    return f"git --no-pager log {which} --format=%x00%H --name-only -z -- '*.py'"


def past_changes(printed: str) -> Iterator[tuple[str, str]]:
    """(commit, path) for every file that a commit changed, newest commit first."""
    commit = ""
    for field in printed.replace("\n", "\0").split("\0"):
        if len(field) in (40, 64) and all(c in "0123456789abcdef" for c in field):
            commit = field
        elif field:
            yield commit, field
