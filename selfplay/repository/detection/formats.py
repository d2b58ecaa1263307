"""Reads TOML, INI and Python files of a repository: with limits, in linear time, and as empty if malformed.

The standard library's readers take quadratic time for unusual input: `tomllib` in the parts of a dotted key, which are
counted here first; `configparser` in the blanks of a line and in lines without an option, so this module parses INI
files itself.
"""

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

from selfplay.python_source import syntax_tree

MAX_BYTES = 1 << 20
MAX_DOTS = 200
MAX_DOTS_OF_LINE = 600
"""Dots in a line before a `=`, as no project has keys with more parts; and in a whole line, since a part in quotes may
hold a `=`."""
_OPTION = re.compile(r"([^=:]+)[=:](.*)", re.DOTALL)


def read_text(path: Path) -> str | None:
    """The text of a regular file of at most `MAX_BYTES`; None for anything else."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_BYTES:
        return None
    return path.read_text(encoding="utf-8", errors="replace")


def read_toml(path: Path) -> dict[str, Any]:
    """The document; empty if the file is missing or unreadable."""
    return toml(read_text(path) or "")


def toml(text: str) -> dict[str, Any]:
    """The document; empty if it is malformed."""
    lines = text.split("\n")
    many = any(part.count(".") > MAX_DOTS for line in lines for part in line.split("="))
    if many or any(line.count(".") > MAX_DOTS_OF_LINE for line in lines):
        return {}
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):  # also a number of more digits than Python reads
        return {}


def read_python(path: Path) -> ast.Module:
    """The tree of a file, which is parsed and not run; empty if it is missing, unreadable or malformed."""
    text = read_text(path)
    try:
        return syntax_tree(text.encode()) if text else ast.Module([], [])
    except (SyntaxError, ValueError):
        return ast.Module([], [])


def read_ini(path: Path) -> dict[str, dict[str, str]]:
    """What `ini` reads in a file; empty if it is missing or unreadable."""
    return ini(read_text(path) or "")


def ini(text: str) -> dict[str, dict[str, str]]:
    """Section -> option in lower case -> value, like `configparser`'s, without blank lines; empty if malformed."""
    sections: dict[str, dict[str, list[str]]] = {}
    options, value = None, None
    for line in text.split("\n"):
        bare = line.strip()
        if not bare or bare[0] in "#;":
            continue
        if value is not None and line[0].isspace():
            value.append(bare)
        elif bare[0] == "[" and bare[-1] == "]":
            options, value = sections.setdefault(bare[1:-1], {}), None
        elif options is not None and (option := _OPTION.fullmatch(bare)):
            value = options[option[1].strip().lower()] = [option[2].strip()]
        else:
            return {}
    return {name: {key: "\n".join(lines) for key, lines in section.items()} for name, section in sections.items()}
