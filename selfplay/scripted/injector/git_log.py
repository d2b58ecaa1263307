"""A repository's history from `git log`: which commits changed which files of a language, and how."""

import random
import shlex
from collections.abc import Collection, Iterator, Sequence

from selfplay.scripted import tools
from selfplay.scripted.policy import Script

COMMITS = 200
"""How many commits back a survey looks."""


def log_command(commits: int, options: str = "", suffixes: Sequence[str] = (".py",)) -> str:
    """The command that prints the last `commits` commits and the files of each that end so, in the form `past_changes`
    reads."""
    patterns = " ".join(shlex.quote(f"*{suffix}") for suffix in suffixes)
    which = f"--no-merges --no-renames -n {commits} {options}".rstrip()
    return f"git --no-pager log {which} --format=%x00%H --name-only -z -- {patterns}"


def past_changes(printed: str) -> Iterator[tuple[str, str]]:
    """(commit, path) for every file that a commit changed, newest commit first."""
    commit = ""
    for field in printed.replace("\n", "\0").split("\0"):
        if len(field) in (40, 64) and all(c in "0123456789abcdef" for c in field):
            commit = field
        elif field:
            yield commit, field


def past_pairs(
    commits: int, code: Collection[str], seed: int, suffixes: Sequence[str] = (".py",), options: str = ""
) -> Script[list[tuple[str, str]]]:
    """(commit, path) of the last `commits`, for the files in `code`, shuffled by the seed. `options`: of `git log`."""
    done = yield from tools.bash(log_command(commits, options, suffixes))
    pairs = [(commit, path) for commit, path in past_changes(done.output) if path in code]
    random.Random(f"deal:{seed}").shuffle(pairs)
    return pairs


def past_change(commit: str, path: str) -> Script[tuple[str, str] | None]:
    """What a commit did to a file, as a diff without context, and the file after it; None where it cannot be read."""
    place = shlex.quote(path)
    asked = f"git --no-pager diff --no-color --no-ext-diff -U0 {commit}^ {commit} -- {place}"
    said = yield from tools.printed(f"{asked} && echo {commit} && git --no-pager show {commit}:{place}")
    diff, found, new = (said or "").partition(f"{commit}\n")  # no file of a commit holds the commit's own name
    return (diff, new) if found else None
