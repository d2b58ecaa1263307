"""Numbers and counts in words: one file, two files; and the type of what says a line. Depends only on the standard
library."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Say = Callable[[str], None]
"""Tells the user one line, such as the progress of a long operation."""
SHOWN = 200
"""Characters of a path in a message; of a longer path both ends are shown."""


def shortened(path: object) -> str:
    """A path shortened for a message."""
    text = str(path)
    return text if len(text) <= SHOWN else f"{text[: SHOWN // 2]}...{text[-SHOWN // 2 :]}"


def cap(text: str, limit: int) -> str:
    """At most `limit` characters of `text`: its head, a line that says how much was cut, and its tail."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters cut ...]\n{text[len(text) - half :]}"


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 file`, `2 files`, `0 files`; `plural`: for nouns whose plural is not made with s."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def and_more(number: int, noun: str) -> str:
    """`, and 2 more places` after the first of several; nothing if it is the only one."""
    return f", and {count(number, f'more {noun}')}" if number else ""


def tally(counts: Mapping[str, int]) -> str:
    """`40 gave up, 2 invalid`: the counts above zero, largest first; in names blanks replace underscores."""
    found = sorted(((n, name) for name, n in counts.items() if n), key=lambda item: (-item[0], item[1]))
    return ", ".join(f"{n} {spaced(name)}" for n, name in found)


def spaced(name: str) -> str:
    """A name of ours as words, `touches-tests` as `touches tests`; another text as it is."""
    return re.sub(r"[_-]+", " ", name) if re.fullmatch(r"[\w-]+", name) else name


def spoken(seconds: float) -> str:
    """`under 1 s`, `8 s`, `2 min 5 s`, `1 h 4 min`."""
    whole = round(seconds)
    if whole < 1:
        return "under 1 s"
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def listed(names: Iterable[str], most: int = 10) -> str:
    """The names, separated by commas; if more than `most`, the first ones and the number of the others."""
    every = list(names)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(every[:most]) + more


def difference(one: Any, other: Any) -> tuple[str, str]:
    """Two values of a setting, as text for a message; of two tables, only the entries that differ."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        names = [name for name in {**one, **other} if one.get(name) != other.get(name)]
        return _table(one, names), _table(other, names)
    return _value(one), _value(other)


def _table(values: Mapping[str, Any], names: Iterable[str]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_value(values.get(name))}" for name in names)


def _value(value: Any) -> str:
    return "nothing" if value is None else repr(value)
