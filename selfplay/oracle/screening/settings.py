"""Compares files that configure both a program and its tests: only the part that tests read must stay as it is.

Programs read the same file differently: a comment to `configparser` may begin a section to pytest, which cuts lines at
more characters. So sections are cut as text, and every line that two readers could understand differently must also
stay as it is.
"""

import json
import posixpath
import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

MOST_CHARACTERS = 1_000_000
"""The largest settings file that is compared, in characters; real ones have a few thousand."""
MOST_DOTS = 200
"""The most dots in a line for `tomllib`: a key of many parts takes time quadratic in their number."""
_TOML = {"pytest": "", "tox": "tox", "nox": "nox", "coverage": "cov", "hatch": "hatch", "pdm": "pdm", "poe": "poe",
         "taskipy": "task"}  # fmt: skip
"""Tables of `tool` -> the word in a test script that makes them matter; empty for tables that always matter."""
_INI = (
    (re.compile(r"tool:pytest|pytest"), ""),
    (re.compile(r"testenv.*|tox.*"), "tox"),
    (re.compile(r"nosetests"), "nose"),
    (re.compile(r"aliases|test"), "setup.py"),
    (re.compile(r"coverage:.*"), "cov"),
)
_PLUGINS = "pytest11"
_HEADER = re.compile(r"\[([^\[\]#;]+)\][ \t]*")
_ODD = re.compile(r"[\r\x00\x0b\x0c\x1c-\x1e\x85\u2028\u2029\ufeff]")
_TOML_PYTEST = re.compile(r"""[\s\["']*tool["'\s]*\.["'\s]*pytest""")
_JSON = ("jest", "mocha", "ava", "nyc", "c8", "tap", "vitest", "babel", "imports", "workspaces")
_WORD = re.compile(r"[\w:.-]+")
_MAKE_TARGET = re.compile(r"(?m)^([^\s#:=][^:=#\n]*):(?!=)[^\n]*\n(?:(?:\t| {2,})[^\n]*\n?|\n)*+")
_MAKE_SPECIAL = re.compile(r"(?m)^(?:-?include\b|\.[A-Z]+|export\b|MAKEFLAGS|SHELL|override\b)[^\n]*")
_MAKE_VARIABLE = re.compile(r"(?m)^[ ]*([\w.-]+)[ \t]*(?:::?|\?|\+|!)?=[^\n]*(?:(?<=\\)\n[^\n]*)*+")
_MAKE_USE = re.compile(r"\$[({]([\w.-]+)[)}]")


class UnreadableSettings(ValueError):
    """A settings file that is invalid in its own format."""


def changed_settings(path: str, before: str | None, after: str | None, script: str) -> str:
    """One line if a change of a settings file changes how tests run; empty otherwise, and for other files."""
    view = _view(path, script)
    if view is None or before == after:
        return ""
    try:
        same = _viewed(view, after) == _viewed(view, before)
    except (ValueError, RecursionError) as error:  # of the readers, too: a number of 5,000 digits
        return f"{path!r} can no longer be read: {error}"
    return "" if same else f"{path!r} changes how the tests are run"


def is_settings_file(path: str, script: str = "make") -> bool:
    """Whether this file may contain settings of the tests among others."""
    return _view(path, script) is not None


def _view(path: str, script: str) -> Callable[[str], Any] | None:
    name = posixpath.basename(path)
    if name == "pyproject.toml":
        return lambda text: _toml(text, script)
    if name in ("setup.cfg", "tox.ini"):
        return lambda text: _ini(text, script)
    if name == "package.json":
        return lambda text: _json(text, script)
    if re.fullmatch(r"(?i)(gnu)?makefile|.*\.mk", name) and re.search(r"\bmake\b", script):
        return lambda text: _make(text, script)
    return None


def _viewed(view: Callable[[str], Any], text: str | None) -> Any:
    if text is not None and len(text) > MOST_CHARACTERS:
        raise UnreadableSettings(f"it has more than {MOST_CHARACTERS} characters")
    return view(text or "")


def _toml(text: str, script: str) -> Any:
    if any(line.count(".") > MOST_DOTS for line in text.split("\n")):
        raise UnreadableSettings(f"a line of it has more than {MOST_DOTS} dots")
    value = tomllib.loads(text)
    tools, project = value.get("tool", {}), value.get("project", {})
    points = project.get("entry-points", {}) if isinstance(project, dict) else None
    if not isinstance(tools, dict) or not isinstance(points, dict):
        raise UnreadableSettings("tool, project and its entry points must be tables")
    said = [line for line in text.splitlines() if _TOML_PYTEST.match(line)]  # a string to some readers
    return [tools.get(name) for name, word in _TOML.items() if word in script], points.get(_PLUGINS), said


def _ini(text: str, script: str) -> Any:
    """The sections that matter, and the lines that are a section only to some readers."""
    plain = text.replace("\r\n", "\n")
    odd = [line for line in plain.split("\n") if _ODD.search(line)]
    odd += [line for line in plain.splitlines() if line.lstrip().startswith("[") and not _HEADER.fullmatch(line)]
    return [found for found in _sections(plain) if _matters(*found, script)], odd


def _sections(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(name, lines) of each section, without comments and blank lines, in the order of the file."""
    name, lines = "", list[str]()
    for line in text.split("\n"):
        if header := _HEADER.fullmatch(line):
            yield name, tuple(lines)
            name, lines = header[1].strip().casefold(), []
        elif line.strip() and line[0] not in "#;":
            lines.append(line.rstrip())
    yield name, tuple(lines)


def _matters(name: str, lines: tuple[str, ...], script: str) -> bool:
    if name == "options.entry_points":
        return any(_PLUGINS in line for line in lines)
    return any(word in script and pattern.fullmatch(name) for pattern, word in _INI)


def _json(text: str, script: str) -> Any:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError) as error:
        raise UnreadableSettings(str(error)) from error
    if not isinstance(value, dict):
        return value
    return [value.get(name) for name in _JSON], _scripts(value.get("scripts"), script)


def _scripts(scripts: Any, script: str) -> Any:
    """The commands that a test run may reach: those it names, and those that these name in turn."""
    if not isinstance(scripts, dict):
        return scripts
    reached, waiting = dict[str, Any](), {"test", *_WORD.findall(script)}
    while waiting:
        name = waiting.pop()
        reached[name] = scripts.get(name)
        if name in scripts:
            more = {f"pre{name}", f"post{name}", *_WORD.findall(str(scripts[name]))}
            waiting |= {word for word in more if word in scripts and word not in reached}
    return {name: command for name, command in reached.items() if name in scripts}


def _make(text: str, script: str) -> Any:
    """The rules that a test run names, the variables they use, and what changes how every rule runs."""
    asked = set(re.findall(r"[\w.-]+", script)) | {"test", "tests", "check"}
    rules = [found[0] for found in _MAKE_TARGET.finditer(text) if asked & set(found[1].split())]
    set_: dict[str, list[str]] = {}
    for found in _MAKE_VARIABLE.finditer(text):
        set_.setdefault(found[1], []).append(found[0])
    used, waiting = dict[str, list[str]](), {name for rule in rules for name in _MAKE_USE.findall(rule)}
    while waiting:
        name = waiting.pop()
        used[name] = set_.get(name, [])
        waiting |= {more for line in used[name] for more in _MAKE_USE.findall(line) if more not in used}
    return rules, used, _MAKE_SPECIAL.findall(text)
