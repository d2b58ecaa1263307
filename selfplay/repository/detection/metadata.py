"""Reads what a Python project declares in any of its files: pyproject (PEP 621, 735, poetry, flit, hatch, pdm),
setup.cfg, setup.py (parsed, not run), PKG-INFO of an sdist, tox.ini. Malformed files count as absent."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.parser import HeaderParser
from pathlib import Path
from typing import Any

from selfplay.python_source import syntax_tree
from selfplay.repository.detection import poetry
from selfplay.repository.detection.formats import MAX_BYTES, read_ini, read_text, read_toml

Ini = Mapping[str, Mapping[str, str]]


@dataclass
class Metadata:
    """`declared`: some file says this is a Python project; `installable`: an installer can build it.

    `extras` and `groups` are names that an installer knows; `group_packages` holds the requirements of groups that only
    our code can read (poetry, hatch, pdm). `hints` are the requirements that tox would install.
    """

    declared: bool = False
    installable: bool = False
    name: str | None = None
    requires_python: str | None = None
    version: str | None = None
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    group_packages: dict[str, tuple[str, ...]] = field(default_factory=dict)
    dependencies: tuple[str, ...] = ()
    tests_require: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    package_root: str | None = None


def read_metadata(tree: Path) -> Metadata:
    """Everything the tree's files declare; for a single value the first file wins."""
    metadata = Metadata()
    _pyproject(read_toml(tree / "pyproject.toml"), metadata)
    _setup_cfg(read_ini(tree / "setup.cfg"), metadata)
    _setup_py(tree / "setup.py", metadata)
    _pkg_info(tree / "PKG-INFO", metadata)
    _tox(read_ini(tree / "tox.ini"), metadata)
    metadata.extras = tuple(dict.fromkeys(metadata.extras))
    return metadata


def _pyproject(document: Mapping[str, Any], metadata: Metadata) -> None:
    project, tool = _table(document, "project"), _table(document, "tool")
    poetry_table, flit = _table(tool, "poetry"), _table(_table(tool, "flit"), "metadata")
    if "build-system" in document or project or poetry_table:
        metadata.declared = True
        metadata.installable = bool(
            project.get("name") or poetry_table.get("name") or flit or "build-system" in document
        )
        if poetry_table.get("package-mode") is False and not project:
            metadata.installable = False
    metadata.name = _text(
        project.get("name") or poetry_table.get("name") or flit.get("dist-name") or flit.get("module")
    )
    metadata.requires_python = _text(project.get("requires-python") or flit.get("requires-python"))
    metadata.version = _text(project.get("version") or poetry_table.get("version"))
    metadata.dependencies = _strings(project.get("dependencies"))
    metadata.extras = (
        *_table(project, "optional-dependencies"), *_table(poetry_table, "extras"), *_table(flit, "requires-extra")
    )  # fmt: skip
    metadata.groups = tuple(_table(document, "dependency-groups"))
    where = _table(_table(_table(tool, "setuptools"), "packages"), "find").get("where")
    root = _text(_table(_table(tool, "setuptools"), "package-dir").get(""))
    metadata.package_root = root or (_strings(where)[0] if _strings(where) else None)
    _poetry(poetry_table, metadata)
    for name, group in _table(_table(tool, "pdm"), "dev-dependencies").items():
        metadata.group_packages[name] = tuple(item for item in _strings(group) if not item.startswith("-e"))
    for name, env in _table(_table(tool, "hatch"), "envs").items():
        if isinstance(env, dict):
            kind = "test" if name in ("default", "hatch-test") else name
            metadata.group_packages[kind] = (
                *metadata.group_packages.get(kind, ()),
                *(x for key in ("dependencies", "extra-dependencies") for x in _strings(env.get(key)) if "{" not in x),
            )


def _poetry(declared: Mapping[str, Any], metadata: Metadata) -> None:
    main = _table(declared, "dependencies")
    if isinstance(main.get("python"), str) and metadata.requires_python is None:
        metadata.requires_python = poetry.python_range(main["python"])
    metadata.dependencies += poetry.requirements({k: v for k, v in main.items() if not _optional(v)})
    groups = {name: _table(group, "dependencies") for name, group in _table(declared, "group").items()}
    if old := _table(declared, "dev-dependencies"):
        groups["dev"] = {**groups.get("dev", {}), **old}
    for name, table in groups.items():
        metadata.group_packages[name] = poetry.requirements(table)


def _optional(constraint: Any) -> bool:
    return isinstance(constraint, dict) and constraint.get("optional") is True


def _setup_cfg(config: Ini, metadata: Metadata) -> None:
    if "metadata" not in config and "options" not in config:
        return
    metadata.declared = metadata.installable = True
    options = config.get("options", {})
    metadata.name = metadata.name or config.get("metadata", {}).get("name")
    metadata.requires_python = metadata.requires_python or options.get("python_requires")
    metadata.extras += tuple(config.get("options.extras_require", {}))
    metadata.tests_require += _lines(options.get("tests_require", ""))
    metadata.dependencies = metadata.dependencies or _lines(options.get("install_requires", ""))
    root = re.search(r"^[ \t]*=\s*(\S+)", options.get("package_dir", ""), re.MULTILINE)
    metadata.package_root = metadata.package_root or (root.group(1) if root else None)


def _setup_py(path: Path, metadata: Metadata) -> None:
    """The literal arguments of `setup(...)`; names bound to literals at module level are looked up."""
    if not path.is_file() or path.is_symlink():
        return
    metadata.declared = metadata.installable = True
    try:
        module = syntax_tree(path.read_bytes() if path.stat().st_size <= MAX_BYTES else b"")
    except (SyntaxError, ValueError):
        return
    known = {
        target.id: node.value
        for node in module.body if isinstance(node, ast.Assign)
        for target in node.targets if isinstance(target, ast.Name)
    }  # fmt: skip
    calls = [node for node in ast.walk(module) if isinstance(node, ast.Call) and "setup" in _name_of(node.func)]
    values: dict[str, Any] = {}
    for keyword in (keyword for call in calls for keyword in call.keywords if keyword.arg):
        node = known.get(keyword.value.id, keyword.value) if isinstance(keyword.value, ast.Name) else keyword.value
        if isinstance(node, ast.Dict) and keyword.arg == "extras_require":
            values["extras_require"] = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            continue
        try:
            values[str(keyword.arg)] = ast.literal_eval(node)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    metadata.name = metadata.name or _text(values.get("name"))
    metadata.requires_python = metadata.requires_python or _text(values.get("python_requires"))
    metadata.extras += _strings(values.get("extras_require"))
    metadata.tests_require += _strings(values.get("tests_require"))
    metadata.dependencies = metadata.dependencies or _strings(values.get("install_requires"))
    metadata.package_root = metadata.package_root or _text(_table(values, "package_dir").get(""))


def _name_of(function: ast.expr) -> str:
    """The last part of the called name; empty when there is no name."""
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


def _pkg_info(path: Path, metadata: Metadata) -> None:
    """The metadata in an sdist: the values that setup.py would have computed."""
    text = read_text(path)
    if text is None:
        return
    headers = HeaderParser().parsestr(text)
    metadata.name = metadata.name or headers.get("Name")
    metadata.version = metadata.version or headers.get("Version")
    metadata.requires_python = metadata.requires_python or headers.get("Requires-Python")
    metadata.extras += tuple(headers.get_all("Provides-Extra", []))


def _tox(config: Ini, metadata: Metadata) -> None:
    if "testenv" in config:
        lines = _lines(config["testenv"].get("deps", ""))
        plain = [line.split("#")[0].strip() for line in lines if not line.startswith("-") and "{" not in line]
        metadata.hints = tuple(line for line in plain if line and not re.match(r"^[\w,!-]+:\s*\S", line))


def _table(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = table.get(key)
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _strings(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return _lines(value)
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list | tuple | dict) else ()


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("#"))
