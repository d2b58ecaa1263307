"""A script of ours that runs some of its files alone.

Whether it is ours is shown by writing it anew: what it says gives the very same text. Any other script may do what it
likes with its words, and is not narrowed.
"""

import shlex
from collections.abc import Collection
from dataclasses import dataclass

from selfplay.plain_text import encode
from selfplay.repository.suites.pytest_suite import file_of, render_script
from selfplay.untrusted_json import AnswerError, answer

_SELECTION = ("cat > \"$work/selection.json\" <<'SELFPLAY_EOF' || exit 137\n", "\nSELFPLAY_EOF\n")
_FILES = ("< <(printf '%s\\0' \\\n", ")\n[ ${#chosen[@]} -gt 0 ]")
_OPTIONS = (" --tb=native --color=no", ' --rootdir="$PWD"')
MOST_SELECTION, MOST_WORDS = 4 << 20, 200_000
"""Bytes and values of a selection that is read."""


@dataclass(frozen=True)
class _Selection:
    """What `render_script` writes for the program inside."""

    excluded: tuple[str, ...]
    only: tuple[str, ...]
    files: tuple[str, ...]
    test_seconds: float
    max_timeouts: int
    patience: float


def narrowed(script: str, files: Collection[str]) -> str | None:
    """`test_script.sh` as it would be for `files` alone; None for a script that `render_script` did not make, or that
    does not name each of the files."""
    try:
        asked = answer(_Selection, encode(_between(script, _SELECTION)), most=MOST_SELECTION, values=MOST_WORDS)
        listed = [_word(line.removesuffix(" \\")) for line in _between(script, _FILES).split("\n")]
        options = shlex.split(_between(script, _OPTIONS))
    except (AnswerError, ValueError):
        return None
    if not files or not set(files) <= set(listed) or _rendered(asked, listed, options) != script:
        return None
    return _rendered(asked, sorted(files), options)


def _rendered(asked: _Selection, files: Collection[str], options: list[str]) -> str:
    kept = set(files)
    return render_script(
        files,
        [test for test in asked.excluded if file_of(test) in kept],
        only=[test for test in asked.only if file_of(test) in kept],
        options=options,
        test_seconds=asked.test_seconds,
        max_timeouts=asked.max_timeouts,
        patience=asked.patience,
    )


def _between(text: str, marks: tuple[str, str]) -> str:
    """The text between the first of one mark and the next of the other. Raises `ValueError` where one is missing."""
    _, found, rest = text.partition(marks[0])
    inner, ended, _ = rest.partition(marks[1])
    if not (found and ended):
        raise ValueError(f"no {marks[0]!r}")
    return inner


def _word(line: str) -> str:
    """The one word of a line. Raises `ValueError`."""
    (word,) = shlex.split(line)
    return word
