"""Finds the licence that a source tree states: in its metadata, or else in its licence file.

Nothing is guessed: a tree without a stated licence has none here, and whoever publishes its code is told so.
"""

import re
from pathlib import Path
from typing import Any

from selfplay.artifact.reading import UntrustedDataError, listed_below, read_below
from selfplay.repository.detection.formats import ini, toml
from selfplay.untrusted_json import json_value

MOST_BYTES = 1 << 20
_FILES = re.compile(r"(licen[cs]e|copying|unlicense)([.-].*)?", re.IGNORECASE)
_TEXTS = (
    ("Apache-2.0", "apache license", "version 2.0"),
    ("MPL-2.0", "mozilla public license", "2.0"),
    ("AGPL-3.0", "gnu affero general public license", "version 3"),
    ("LGPL-3.0", "gnu lesser general public license", "version 3"),
    ("LGPL-2.1", "gnu lesser general public license", "version 2.1"),
    ("GPL-3.0", "gnu general public license", "version 3"),
    ("GPL-2.0", "gnu general public license", "version 2"),
    ("ISC", "permission to use, copy, modify, and/or distribute this software", ""),
    ("BSD-3-Clause", "redistribution and use in source and binary forms", "endorse or promote"),
    ("BSD-2-Clause", "redistribution and use in source and binary forms", ""),
    ("MIT", "permission is hereby granted, free of charge", "the software is provided"),
    ("Unlicense", "this is free and unencumbered software released into the public domain", ""),
)
"""Licence names, each with words near the beginning of its text and words anywhere in it."""
_LINE = re.compile(r"[\w .,;:()+/-]{1,80}")


def licence_of(tree: Path) -> str | None:
    """The tree's licence, by its SPDX name if known; None if it states none."""
    found = _in_pyproject(tree) or _in_setup(tree) or _in_package_json(tree) or _in_pkg_info(tree)
    return _known(found) if found else _in_files(tree)


def _text(tree: Path, name: str) -> str:
    try:
        return read_below(tree, name, MOST_BYTES).decode("utf-8", "replace")
    except UntrustedDataError:
        return ""


def _in_pyproject(tree: Path) -> str | None:
    value = toml(_text(tree, "pyproject.toml"))
    for where in (value.get("project"), _inner(value, "tool", "poetry")):
        if isinstance(where, dict):
            said = where.get("license")
            found = said.get("text") if isinstance(said, dict) else said
            if known := _line(found) or _classified(where.get("classifiers")):
                return known
    return None


def _inner(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _in_setup(tree: Path) -> str | None:
    return _line(ini(_text(tree, "setup.cfg")).get("metadata", {}).get("license"))


def _in_package_json(tree: Path) -> str | None:
    try:
        value = json_value((_text(tree, "package.json") or "null").encode())
    except ValueError:
        return None
    return _line(_inner(value, "license"))


def _in_pkg_info(tree: Path) -> str | None:
    said = dict(re.findall(r"^(License(?:-Expression)?): (.+)$", _text(tree, "PKG-INFO"), re.MULTILINE))
    return _line(said.get("License-Expression")) or _line(said.get("License"))


def _in_files(tree: Path) -> str | None:
    try:
        names = [name for name in listed_below(tree) if _FILES.fullmatch(name)]
    except UntrustedDataError:
        return None
    for name in names:
        text = " ".join(_text(tree, name).lower().split())
        for licence, first, anywhere in _TEXTS:
            if first in text[:3000] and anywhere in text:
                return licence
    return None


def _classified(classifiers: Any) -> str | None:
    for one in classifiers if isinstance(classifiers, list) else ():
        if isinstance(one, str) and one.startswith("License :: OSI Approved :: "):
            return _line(one.rpartition(" :: ")[2])
    return None


def _line(text: Any) -> str | None:
    """The name of a licence, if it is one short line."""
    plain = text.strip() if isinstance(text, str) else ""
    return plain if _LINE.fullmatch(plain) and plain.upper() != "UNKNOWN" else None


_NAMES = {
    "mit license": "MIT", "the mit license": "MIT", "apache software license": "Apache-2.0", "apache 2.0": "Apache-2.0",
    "apache license 2.0": "Apache-2.0", "apache license, version 2.0": "Apache-2.0", "bsd license": "BSD",
    "isc license (iscl)": "ISC", "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0", "new bsd": "BSD-3-Clause",
    "bsd 3-clause license": "BSD-3-Clause", "the unlicense (unlicense)": "Unlicense",
}  # fmt: skip


def _known(name: str) -> str:
    return _NAMES.get(name.lower(), name)
