"""Converts Poetry's notation (`^1.2`, `~1.2`, `1.*`, alternatives after `||`) to standard requirements.

Its rules: https://python-poetry.org/docs/dependency-specification/. A requirement has no "or" between versions, so the
last of several alternatives is used, which by convention is the newest.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from selfplay.package_versions import version_of

_ELSEWHERE = frozenset({"path", "file", "git", "url"})  # not on an index
_CLAUSE = re.compile(r"(~=|\^|~|[=!]=|[<>]=?|=)?v?([^\s^~=<>]+)")


def requirements(table: Mapping[str, Any]) -> tuple[str, ...]:
    """A table of dependencies as PEP 508 requirements; dependencies that are unreadable or not on an index are left
    out."""
    found = []
    for name, entry in table.items():
        for one in entry if isinstance(entry, list) else [entry]:
            fields = one if isinstance(one, dict) else {"version": one}
            if name != "python" and not _ELSEWHERE & set(fields):
                found.append(_requirement(name, fields))
    return tuple(requirement for requirement in found if requirement)


def python_range(constraint: str) -> str | None:
    """The Pythons that a constraint allows, as a PEP 440 specifier; None for any Python or an unreadable constraint.

    An exact `3.11` means every 3.11.x, not exactly 3.11.0.
    """
    try:
        text = _alternatives(constraint)[-1]
    except ValueError:
        return None
    return re.sub(r"==(\d+\.\d+)(?=,|$)", r"==\1.*", text) or None


def _requirement(name: str, fields: Mapping[str, Any]) -> str | None:
    try:
        versions = _alternatives(str(fields.get("version", "*")))[-1]
        extras = ",".join(fields.get("extras", ()))
        markers = " and ".join(f"({marker})" for marker in _markers(fields))
        return str(Requirement(f"{name}[{extras}]{versions}{' ; ' if markers else ''}{markers}"))
    except (ValueError, TypeError, InvalidRequirement):
        return None


def _markers(fields: Mapping[str, Any]) -> Iterator[str]:
    """The conditions of the dependency, as parts of one PEP 508 marker."""
    if own := fields.get("markers"):
        yield str(own)
    if python := fields.get("python"):
        allowed = [_python_marker(one) for one in _alternatives(str(python))]
        if all(allowed):
            yield " or ".join(allowed)
    if platform := fields.get("platform"):
        names = [one.strip() for one in str(platform).split("||")]
        yield " or ".join(
            f'sys_platform {"!=" if name.startswith("!") else "=="} "{name.lstrip("!= ")}"' for name in names
        )


def _python_marker(specifier: str) -> str:
    """A specifier as a marker. `python_version` has two numbers, so three need `python_full_version`."""
    clauses = sorted(SpecifierSet(specifier), key=str)
    return " and ".join(
        f"{'python_full_version' if clause.version.count('.') > 1 else 'python_version'} {clause.operator} "
        f'"{clause.version}"'
        for clause in clauses
    )


def _alternatives(constraint: str) -> list[str]:
    """Each alternative as a PEP 440 specifier; empty for any version. Raises `ValueError` for an invalid one."""
    found = []
    for alternative in re.split(r"\|\|?", constraint):
        glued = re.sub(r"([\^~=<>!])\s+", r"\1", alternative)
        clauses = [_clause(text) for text in re.split(r"[\s,]+", glued.strip(" ,"))]
        found.append(",".join(clause for clause in clauses if clause))
        SpecifierSet(found[-1])
    return found


def _clause(text: str) -> str:
    match = _CLAUSE.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a constraint")
    operator, version = match[1] or "==", re.sub(r"(?<!\.[*xX])(\.[*xX])++$", ".*", match[2])
    if version in ("*", "x", "X"):
        return ""
    if operator in ("^", "~"):
        lowest = version_of(version)
        if lowest is None:
            raise ValueError(f"{text!r} is not a constraint")
        return f">={version},<{_bound(operator, lowest)}"
    return f"{'==' if operator == '=' else operator}{version}"


def _bound(operator: str, version: Version) -> str:
    """The first version above the range: `^` keeps the first non-zero number, `~` the first two numbers."""
    release = version.release
    held = next((place for place, number in enumerate(release) if number), len(release) - 1)
    if operator == "~":
        held = min(1, len(release) - 1)
    epoch = f"{version.epoch}!" if version.epoch else ""
    return epoch + ".".join(map(str, (*release[:held], release[held] + 1)))
