"""The order for the sandbox in which an untrusted source is read, and its answer: values, checked by type.

The host trusts only the types and sizes of an answer, because the program that gives it has read hostile files.
"""

import dataclasses
import json
import re
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from selfplay.untrusted_json import json_value

SOURCE, COMMON, FETCHED, ARCHIVES, LAYER = "/source", "/common", "/fetched", "/archives", "/layer"
"""Where the sandbox mounts, read-only: the folder, the git folder that a worktree or a submodule uses, what was
fetched, the downloaded archives, an earlier `.git` layer."""
WORK = "/testbed/work"
ANSWER, TREE, HISTORY = "/testbed/answer.json", f"{WORK}/tree", f"{WORK}/history"
MAX_ANSWER = 48 << 20
NO_PROCESS = 75
"""How the reader ends where the machine has no process left for git: the source is not to blame."""
MAX_TEXT = 16_384
MAX_ITEMS = 1_000_000
MAX_VALUES = 1_500_000  # a value takes some 100 bytes
SPECIFIER = re.compile(r"[\w.*,<>=!~ +-]{0,200}", re.ASCII)
"""A range of versions, in the form that the host accepts."""
T = TypeVar("T")


class MalformedAnswer(Exception):
    """An answer that is not what was asked for."""


@dataclass(frozen=True)
class Release:
    """An sdist of one `version` of a project, mounted at `archive`; empty if it could not be downloaded."""

    version: str
    archive: str


@dataclass(frozen=True)
class ReadOrder:
    """What to read. `kind`: `folder` (a plain folder), `checkout` (a git repository, at HEAD, or at `revision`),
    `fetched` (packs that the host fetched, at `commit` or at `revision`), `releases` (sdists), `tree` (a folder with
    all its files), `layer` (the tree `commit` of a `.git` layer).

    `shown`: the source's name in messages. `git`: the git folder inside; `subfolder`: the wanted part of its tree.
    `moved`: host folder -> its path inside. `url`: the base of relative submodule URLs. `tags`: the remote's, as
    `ls-remote` lists them. `failed`: submodule URL and commit -> why the host could not fetch it. `closed`: look for
    files that the sandbox's user cannot read. `notes`: the host's notes so far. `dated`: the upload day of the last
    release, if the index states it.
    """

    kind: str
    shown: str
    git: str = ""
    subfolder: str = "."
    moved: Mapping[str, str] = field(default_factory=dict)
    revision: str = ""
    commit: str = ""
    url: str = ""
    tags: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    releases: tuple[Release, ...] = ()
    name: str = ""
    notes: tuple[str, ...] = ()
    closed: bool = False
    at_url: bool = False
    dated: str = ""


@dataclass(frozen=True)
class BuildPlan:
    """How to build an environment for a tree.

    `project`: the tree itself can be installed, with `extras` and dependency `groups`. `requirement_files` and
    `packages` are installed in addition. `roots`: folders from which modules are imported, for a tree that cannot be
    installed. `declared`: names of all distributions that the project mentions. `home`: its repository's URL, from its
    metadata.
    """

    language: str
    name: str | None = None
    requires_python: str | None = None
    project: bool = False
    extras: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    requirement_files: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    dependencies: tuple[str, ...] = ()
    roots: tuple[str, ...] = (".",)
    declared: tuple[str, ...] = ()
    home: str = ""


@dataclass(frozen=True)
class SourceFound:
    """`commit`: the tidied HEAD; `tree_hash`: its tree; `tracked`: path -> blob id; `revision`: as users name it;
    `version`: the release that the tree claims to be; `notes`: lines for the user; `plan`: how to build it; `dated`:
    the day of its commit or release, empty if unknown; `past`: a digest of the commits that its history has, which in
    a shallow clone are fewer."""

    commit: str
    tree_hash: str
    tracked: dict[str, str]
    revision: str
    version: str | None
    notes: tuple[str, ...]
    plan: BuildPlan
    dated: str = ""
    past: str = ""


@dataclass(frozen=True)
class Submodule:
    """A submodule's commit that only the host can fetch."""

    url: str
    commit: str

    @property
    def key(self) -> str:
        return f"{self.url} {self.commit}"


@dataclass(frozen=True)
class ReaderAnswer:
    """One of: what was found; submodules that the host must fetch before it asks again; a file that the sandbox's user
    cannot read; or the `problem` (a message and a hint) that makes the source unusable."""

    found: SourceFound | None = None
    wanted: tuple[Submodule, ...] = ()
    closed: str = ""
    problem: tuple[str, ...] = ()


def encoded(value: Any) -> bytes:
    """A value of this module as JSON; undecodable bytes of paths are kept."""
    return json.dumps(dataclasses.asdict(value)).encode()


def decoded(kind: type[T], data: bytes) -> T:
    """Parse JSON as a value of class `kind`. Raises `MalformedAnswer`."""
    try:
        return typing.cast(T, checked(kind, json_value(data, values=MAX_VALUES)))
    except ValueError as error:
        raise MalformedAnswer(str(error)) from error


def checked(kind: Any, value: Any) -> Any:
    """Return `value` as type `kind`: a class of this module, str, bool, a tuple or a mapping of one type, or None.
    Raises `MalformedAnswer`."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        chosen = next(one for one in inner if one is not type(None))
        return None if value is None else checked(chosen, value)
    if dataclasses.is_dataclass(kind) and isinstance(value, dict):
        hints = typing.get_type_hints(kind)
        if set(value) != set(hints):
            raise MalformedAnswer(f"not the fields of {kind}")
        return kind(**{name: checked(hint, value[name]) for name, hint in hints.items()})  # type: ignore[operator]
    if origin is tuple and isinstance(value, list) and len(value) <= MAX_ITEMS:
        return tuple(checked(inner[0], item) for item in value)
    if origin is not None and issubclass(origin, Mapping) and isinstance(value, dict) and len(value) <= MAX_ITEMS:
        return {checked(str, key): checked(inner[1], item) for key, item in value.items()}
    if kind is bool and isinstance(value, bool):
        return value
    if kind is str and isinstance(value, str) and len(value) <= MAX_TEXT and "\0" not in value:
        return value
    raise MalformedAnswer(f"{str(value)[:60]!r} is not {kind}")
