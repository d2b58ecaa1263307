"""The commands by which a project says that its tests run: tox's and nox's. They are read, and nothing is run here."""

import ast
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from selfplay.repository.detection.formats import ini, read_ini, read_python, read_toml

MOST, MOST_LENGTH = 10, 1_000
TESTING = re.compile(r"\b(pytest|py\.test|unittest|manage\.py)\b")
POSARGS = re.compile(r"\{posargs(?::([^{}]*))?\}|\[\]")
KNOWN = {"{envpython}": "python", "{toxinidir}/": "", "{toxinidir}": ".", "{tox_root}/": "", "{tox_root}": "."}


def declared_commands(tree: Path) -> tuple[str, ...]:
    """Commands that run tests, as they are declared, without those that need what only tox or nox knows."""
    found = dict.fromkeys(text for text in map(_plain, _declared(tree)) if TESTING.search(text))
    return tuple(found)[:MOST]


def _declared(tree: Path) -> Iterator[str]:
    document = read_toml(tree / "pyproject.toml")
    tox = _table(_table(document, "tool"), "tox")
    legacy = tox.get("legacy_tox_ini")
    configured = [read_ini(tree / "tox.ini"), ini(legacy) if isinstance(legacy, str) else {}]
    for sections in configured:
        for section, options in sections.items():
            if section == "testenv" or section.startswith("testenv:"):
                yield from options.get("commands", "").replace("\\\n", " ").split("\n")
    for native in (tox, read_toml(tree / "tox.toml")):
        yield from _lists(_table(native, "env_run_base").get("commands"))
    yield from _of_nox(tree / "noxfile.py")


def _table(value: dict[str, Any], name: str) -> dict[str, Any]:
    found = value.get(name)
    return found if isinstance(found, dict) else {}


def _lists(value: Any) -> Iterator[str]:
    for words in value if isinstance(value, list) else ():
        if isinstance(words, list):
            yield shlex.join(word for word in words if isinstance(word, str))


def _of_nox(path: Path) -> Iterator[str]:
    """`session.run("python", "-m", "unittest")`: the words that stand there as they are."""
    for node in ast.walk(read_python(path)):
        match node:
            case ast.Call(func=ast.Attribute(attr="run"), args=arguments):
                words = [one.value for one in arguments if isinstance(one, ast.Constant) and isinstance(one.value, str)]
                yield shlex.join(words)


def _plain(command: str) -> str:
    """A command without tox's marks; empty for one that holds more of them than we know."""
    text = POSARGS.sub(lambda found: found[1] or "", command.strip()[:MOST_LENGTH].lstrip("-! "))
    for mark, meant in KNOWN.items():
        text = text.replace(mark, meant)
    return "" if "{" in text else text.strip()
