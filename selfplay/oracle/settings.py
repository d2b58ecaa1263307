"""Files that configure both a program and its tests: only the part that the tests read must stay as it is."""

import configparser
import json
import posixpath
import re
import tomllib
from collections.abc import Callable
from typing import Any

MOST_CHARACTERS = 1_000_000
"""Characters of a settings file that is compared: files of real projects have some thousand."""
MOST_DOTS = 200
"""Dots in a line read by `tomllib`: a key of many parts takes time quadratic in their number."""
MOST_BLANKS = 100
"""Blanks in a row in a file read by `configparser`: each line takes time proportional to its length times this."""
_TOML = ("pytest", "tox", "nox", "coverage", "hatch", "pdm", "poe", "taskipy")
_INI = re.compile(r"tool:pytest|pytest|testenv.*|tox|nosetests|aliases|test|coverage:.*|options\.entry_points")
_JSON = ("scripts", "jest", "mocha", "ava", "nyc", "c8", "tap", "vitest", "babel", "imports", "workspaces")
_MAKE_TARGET = re.compile(r"(?m)^([^\s#:=][^:=#\n]*):(?!=)[^\n]*\n(?:(?:\t| {2,})[^\n]*\n?|\n)*")
_MAKE_SPECIAL = re.compile(r"(?m)^(?:-?include\b|\.[A-Z]+|export\b|MAKEFLAGS|SHELL|override\b)[^\n]*")


class Unreadable(ValueError):
    """A settings file that its own format cannot read."""


def changed_settings(path: str, before: str | None, after: str | None, script: str) -> str:
    """One line when a change of a settings file changes how tests run; empty otherwise, and for any other file."""
    view = _view(path, script)
    if view is None or before == after:
        return ""
    try:
        same = _viewed(view, after) == _viewed(view, before)
    except (Unreadable, RecursionError) as error:
        return f"{path!r} can no longer be read: {error}"
    return "" if same else f"{path!r} changes how the tests are run"


def is_settings_file(path: str, script: str = "make") -> bool:
    """May this file contain settings of the tests besides others?"""
    return _view(path, script) is not None


def _view(path: str, script: str) -> Callable[[str], Any] | None:
    name = posixpath.basename(path)
    if name == "pyproject.toml":
        return _toml
    if name == "setup.cfg":
        return _ini
    if name == "package.json":
        return _json
    if re.fullmatch(r"(?i)(gnu)?makefile|.*\.mk", name) and re.search(r"\bmake\b", script):
        return lambda text: _make(text, script)
    return None


def _viewed(view: Callable[[str], Any], text: str | None) -> Any:
    if text is not None and len(text) > MOST_CHARACTERS:
        raise Unreadable(f"it has more than {MOST_CHARACTERS} characters")
    return view(text or "")


def _toml(text: str) -> Any:
    if any(line.count(".") > MOST_DOTS for line in text.split("\n")):
        raise Unreadable(f"a line of it has more than {MOST_DOTS} dots")
    try:
        value = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise Unreadable(str(error)) from error
    tools, project = value.get("tool", {}), value.get("project", {})
    if not isinstance(tools, dict) or not isinstance(project, dict):
        raise Unreadable("tool and project must be tables")
    return [tools.get(name) for name in _TOML], project.get("entry-points")


def _ini(text: str) -> Any:
    if re.search(rf"[^\S\n]{{{MOST_BLANKS + 1}}}", text):
        raise Unreadable(f"it has more than {MOST_BLANKS} blanks in a row")
    reader = configparser.RawConfigParser(strict=False)
    try:
        reader.read_string(text)
    except configparser.Error as error:
        raise Unreadable(str(error)) from error
    return {name: dict(reader[name]) for name in reader.sections() if _INI.fullmatch(name)}


def _json(text: str) -> Any:
    try:
        value = json.loads(text or "{}")
    except ValueError as error:
        raise Unreadable(str(error)) from error
    return [value.get(name) for name in _JSON] if isinstance(value, dict) else value


def _make(text: str, script: str) -> Any:
    """The rules that a test run asks for by name, and what changes how every rule runs."""
    asked = set(re.findall(r"[\w.-]+", script)) | {"test", "tests", "check"}
    rules = [found[0] for found in _MAKE_TARGET.finditer(text) if asked & set(found[1].split())]
    return rules, _MAKE_SPECIAL.findall(text)
