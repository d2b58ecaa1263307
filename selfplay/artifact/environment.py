"""The record of an environment in `bug.json` and a pool, typed: versions, never paths; `name==version`, never URLs.

These values decide what is executed when a shared run is built again, so they name no program, path or address.
Exceptions are `setup`, a command, and `source`, a place: both are used only if the user allows it
(`curriculum/trust.py`).
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from selfplay.artifact.decoding import typed
from selfplay.package_versions import version_of

MOST_PINS = 5_000
MOST_COMMAND = 64 * 1024
PYTHON_VERSION = re.compile(r"\d{1,2}\.\d{1,3}(\.\d{1,3}((a|b|rc)\d{1,3})?)?")
_PIN = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?)==([A-Za-z0-9.!+_-]{1,100})")


def pinned(line: str) -> bool:
    """Whether a line is exactly `name==version`: no URL, option, marker, extra or second line."""
    found = _PIN.fullmatch(line)
    return found is not None and version_of(found.group(2)) is not None


def _python(text: str) -> str:
    if not PYTHON_VERSION.fullmatch(text):
        raise ValueError(f"{text[:80]!r} is not a version such as 3.11 or 3.11.4")
    return text


def _pin(text: str) -> str:
    if not pinned(text):
        raise ValueError(f"{text[:80]!r} is not name==version")
    return text


def _version(text: str) -> str:
    if not version_of(text):
        raise ValueError(f"{text[:80]!r} is not a version")
    return text


def _line(text: str) -> str:
    if not text.isprintable():
        raise ValueError(f"{text[:80]!r} is not one plain line")
    return text


Line = Annotated[str, Field(max_length=4096), AfterValidator(_line)]
ObjectId = Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]


class Environment(BaseModel):
    """`python`, `version`: the versions of the interpreter and the project; `lock`: the installed packages; `setup`:
    the user's own command, if any; `as_of`: the last upload day of installed packages; the other fields say where the
    tree came from. Fields of a later version are kept."""

    model_config = ConfigDict(extra="allow", frozen=True, strict=True)

    python: Annotated[str, AfterValidator(_python)] | None = None
    lock: Annotated[tuple[Annotated[str, AfterValidator(_pin)], ...], Field(max_length=MOST_PINS, strict=False)] = ()
    setup: Annotated[str, Field(max_length=MOST_COMMAND)] | None = None
    version: Annotated[str, AfterValidator(_version)] | None = None
    source: Line | None = None
    revision: Line | None = None
    commit: ObjectId | None = None
    tree_hash: ObjectId | None = None
    image: Annotated[str, Field(pattern=r"^([A-Za-z0-9][A-Za-z0-9._/:@-]{0,499})?$")] = ""
    as_of: Annotated[str, Field(pattern=r"^([0-9]{4}-[0-9]{2}-[0-9]{2})?$")] = ""
    allow_hosts: Annotated[tuple[Line, ...], Field(max_length=64, strict=False)] = ()


def recorded_environment(value: Mapping[str, Any]) -> Environment:
    """Read a recorded environment. Raises `UntrustedDataError`, naming a field that this package does not write so."""
    return typed(Environment, dict(value), "the recorded environment")
