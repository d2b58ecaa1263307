"""Finds the distributions that a project itself declares, anywhere: they may be installed when its tests miss a module.

Error texts are untrusted, and a name in one may be a trap, such as a misspelled distribution. So only distributions are
installed that the project declares or that one of our tables maps.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from selfplay.repository.detection.formats import read_ini, read_python, read_text, read_toml

MOST_NAMES, MOST_FILES, MOST_WORD = 1_000, 50, 2_000
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,100}")
HOSTS = ("github.com", "gitlab.com", "codeberg.org", "bitbucket.org")
HOME = re.compile(
    rf"https://({'|'.join(map(re.escape, HOSTS))})/(\w[\w.-]{{0,99}})/(\w[\w.-]{{0,99}}?)(?:\.git)?(?:/.{{0,200}})?"
)
"""A repository on a well-known host, as metadata spell it."""
URLS = ("Home-page: https://", "Project-URL: ", "Download-URL: https://")
NOT_A_REPOSITORY = {"sponsors", "orgs", "users", "settings", "features"}


def declared_names(tree: Path) -> tuple[str, ...]:
    """The canonical names in all lists of requirements in the tree's files."""
    found: dict[str, None] = {}
    for text in _requirements(tree):
        if len(text) <= MOST_WORD and (match := NAME.match(text.strip())) and len(found) < MOST_NAMES:
            found[canonicalize_name(match[0])] = None
    return tuple(found)


def _requirements(tree: Path) -> Iterator[str]:
    document = read_toml(tree / "pyproject.toml")
    for key in ("project", "dependency-groups", "tool", "build-system"):
        yield from _strings(document.get(key), 0)
    config = read_ini(tree / "setup.cfg")
    for section, options in config.items():
        if section.startswith("options"):
            yield from "\n".join(options.values()).splitlines()
    for section, options in read_ini(tree / "tox.ini").items():
        if section.startswith("testenv"):
            yield from (line.rpartition(": ")[2] for line in options.get("deps", "").splitlines())
    for path in _requirement_files(tree):
        yield from (read_text(path) or "").splitlines()
    for name in ("setup.py", "noxfile.py"):
        yield from _literals(tree / name)


def _strings(value: Any, depth: int) -> Iterator[str]:
    """All texts in lists below `value`, and the keys of tables, which are names in poetry's format."""
    if depth > 6:
        return
    if isinstance(value, list):
        yield from (item for item in value if isinstance(item, str))
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if "dependencies" in key and isinstance(item, Mapping):
                yield from item
            yield from _strings(item, depth + 1)


def _requirement_files(tree: Path) -> Iterable[Path]:
    patterns = ("*requirements*.txt", "requirements/*.txt", "*requirements*.in", "requirements/*.in", "tests/*req*.txt")
    return [path for pattern in patterns for path in sorted(tree.glob(pattern))][:MOST_FILES]


def _literals(path: Path) -> Iterator[str]:
    """The texts in lists and calls of a setup.py or a noxfile, which is parsed, not run."""
    for node in ast.walk(read_python(path)):
        items = node.elts if isinstance(node, ast.List | ast.Tuple) else node.args if isinstance(node, ast.Call) else []
        yield from (item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str))


def home_of(tree: Path) -> str:
    """The URL of the project's repository, if its metadata name one on a well-known host; else empty."""
    headers = (read_text(tree / "PKG-INFO") or "").partition("\n\n")[0].splitlines()
    urls = [line.rpartition(" ")[2] for line in headers if line.startswith(URLS)]  # old descriptions are headers
    return next((home for url in urls if (home := repository_url(url))), "")


def repository_url(url: str) -> str:
    """The plain URL of a repository on a well-known host; empty for anything else."""
    found = HOME.fullmatch(url.strip()[:400])
    if found is None or found[2].lower() in NOT_A_REPOSITORY or "." in (found[2], found[3]):
        return ""
    return f"https://{found[1]}/{found[2]}/{found[3]}"
