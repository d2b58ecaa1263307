"""The SOURCE a user types, as a value: a path, a git URL with an optional `@REV`, or `pypi:NAME[==VERSION]`."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from packaging.utils import canonicalize_name

from selfplay.formatting import shortened
from selfplay.package_versions import version_of
from selfplay.plain_text import shown
from selfplay.repository.errors import SourceError
from selfplay.user_paths import expanded

FORMS = "Give a folder, a git URL (https, ssh, file; @REV allowed), pypi:NAME[==VERSION], or image:[/PATH]."
_SCHEME = re.compile(r"^(?:git\+)?([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_SCP = re.compile(r"^(?:[\w.-]+@)?[\w.-]+:(?!//).+$")
_GIT_SCHEMES = {"https", "http", "ssh", "file"}
_PYPI = re.compile(r"^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:==(.+))?$")

_BARE_USER = re.compile(
    r"(?:=['\"]?|//)(?!npm:|jsr:)[^\s/='\"?#@:]{1,200}:[^\s/='\"?#@:]{1,1000}@(?!sha\d)"
    r"(?:localhost|\[|[\w-]{1,63}[/:]|(?:[\w-]{1,63}\.){1,20}[A-Za-z]{2})"
)
"""A user and a password before a host, also without a scheme, as the value of a variable; the tag of an image with its
digest, or a package of npm with its version, is none."""
_TOKEN = re.compile(
    r"\b(?:gh[opsur]_\w{30,}|github_pat_\w{30,}|glpat-[\w-]{20,}|hf_\w{30,}|npm_\w{30,}|pypi-[\w-]{50,}"
    r"|sk-(?:[a-z0-9]{2,10}-){0,2}\w{24,}|xox[abeprs]-[\w-]{20,}|AKIA[0-9A-Z]{16})\b"
)
"""How the tokens of well-known hosts look."""


@dataclass(frozen=True)
class PathSource:
    """A folder on this machine: a git checkout, a sub-folder of one, or a plain folder."""

    path: Path

    def __str__(self) -> str:
        return str(self.path)


@dataclass(frozen=True)
class GitSource:
    """A repository git can fetch, at `rev` (branch, tag or commit; None is the remote's default branch). `anonymous`: a
    stranger named it, so that it is fetched without the user's credentials."""

    url: str
    rev: str | None = None
    anonymous: bool = False

    def __str__(self) -> str:
        return self.url if self.rev is None else f"{self.url}@{self.rev}"


@dataclass(frozen=True)
class PypiSource:
    """A release on the package index; `version` None is the newest final release."""

    name: str
    version: str | None = None

    def __str__(self) -> str:
        return f"pypi:{self.name}" + (f"=={self.version}" if self.version else "")


@dataclass(frozen=True)
class ImageSource:
    """A folder of the sandboxes' image; with `path` None it is searched for."""

    path: str | None = None

    def __str__(self) -> str:
        return f"image:{self.path or ''}"


Source = PathSource | GitSource | PypiSource | ImageSource


def parse_source(text: str) -> Source:
    """The source that `text` names. Raises `SourceError` with the reason; does not use the network."""
    if not text.strip() or "\0" in text or "\n" in text:
        raise SourceError(f"{text!r} is not a source", FORMS)
    _refuse_bytes(text)
    _refuse_credentials(text)
    if text.startswith("pypi:"):
        return _pypi(text)
    if text == "image:" or text.startswith("image:/"):
        return ImageSource(text.removeprefix("image:").rstrip("/") or None)
    if scheme := _SCHEME.match(text):
        return _url(text, scheme.group(1).lower())
    if "::" in text and not text.startswith((".", "/", "~")):
        raise SourceError(f"{text!r}: git's remote helpers are not accepted", FORMS)
    if _is_scp(text):
        host, _, rest = text.removeprefix("git+").partition(":")
        location, rev = _split_rev(rest, text)
        return GitSource(f"{host}:{location}", rev)
    path = expanded(text, SourceError)
    if not _can_be_looked_up(path):
        raise SourceError(f"{text[:200]!r} cannot be looked up: the name is too long, or a folder is closed", FORMS)
    if not path.exists():
        raise SourceError(f"{text!r} does not exist", FORMS)
    if not path.is_dir():
        raise SourceError(f"{text!r} is not a folder", FORMS)
    _refuse_bytes(str(path.absolute()))
    return PathSource(path.absolute())


def _refuse_bytes(text: str) -> None:
    """A source's name is stored with its bugs, as text."""
    if shown(text) != text:
        raise SourceError(f"the name of the source is no text: {shown(text)}", "Rename the folder.")


def _refuse_credentials(text: str) -> None:
    """A source's name is stored with its bugs, and goes into reports and datasets: it may hold no password or token."""
    scheme, _, rest = text.partition("://")
    user, at, host = rest.partition("/")[0].rpartition("@")
    if at and _is_credential(scheme, user):
        raise SourceError(
            f"the URL of a source on {host!r} holds a user or a password, and it would be stored with the bugs",
            "Leave out what stands before the @. Git finds them in ~/.netrc or by `git config credential.helper`.",
        )


def _is_credential(scheme: str, user: str) -> bool:
    """Whether what stands before the @ of a URL is a secret, or may be one. Over ssh a user alone is none."""
    return ":" in user or not scheme.lower().endswith("ssh")


def refuse_credentials_in(text: str, option: str) -> None:
    """A command of the user is stored with the bugs as well: no URL in it may hold a user or a password, and nothing in
    it may look like a token of a known host. Raises `SourceError`."""
    users = re.findall(r"([\w+.-]{1,40})://([^\s/'\"?#@]{1,1000})@", text)
    bare = _BARE_USER.search(text)
    if bare or any(user != "git" and _is_credential(scheme, user) for scheme, user in users):
        raise SourceError(
            f"a URL in {option} holds a user or a password, and the command would be stored with the bugs",
            "Leave out what stands before the @, and give it by a file of the tool, such as ~/.netrc.",
        )
    if token := _TOKEN.search(text):
        raise SourceError(
            f"{option} holds a token ({token[0][:6]}...), and the command would be stored with the bugs",
            "Give it by a file of the tool that needs it, such as ~/.netrc, or build without it.",
        )


def is_list(text: str) -> bool:
    """Whether the user's argument names a file: it is then a list of sources, because no source is a file. What has the
    form of another source is that source, whatever lies here by its name. Raises `SourceError`."""
    if text.startswith(("pypi:", "image:")) or _SCHEME.match(text) or _is_scp(text):
        return False
    path = expanded(text, SourceError)
    return _can_be_looked_up(path) and path.is_file()


def _is_scp(text: str) -> bool:
    """Whether it is `[USER@]HOST:PATH`; a folder whose name holds a colon is written `./NAME`."""
    return bool(_SCP.match(text)) and not text.startswith((".", "/", "~"))


def _can_be_looked_up(path: Path) -> bool:
    try:
        path.exists()
    except OSError:
        return False
    return True


def _pypi(text: str) -> PypiSource:
    match = _PYPI.match(text.removeprefix("pypi:").strip())
    if not match:
        raise SourceError(f"{text!r} is not pypi:NAME or pypi:NAME==VERSION", FORMS)
    name, version = match.groups()
    exact = version_of(version) if version else None
    if version and exact is None:
        raise SourceError(
            f"{shortened(text)!r}: {shortened(version)!r} is not a version", "Name one exact version after '=='."
        )
    return PypiSource(str(canonicalize_name(name)), str(exact) if exact else None)


def _url(text: str, scheme: str) -> GitSource:
    if scheme not in _GIT_SCHEMES:
        raise SourceError(f"{text!r}: the scheme {scheme!r} is not supported", FORMS)
    url = text[4:] if text.lower().startswith("git+") else text
    if "#" in url:
        raise SourceError(f"{text!r}: '#' parts are not supported", "Give the revision as @REV.")
    if re.search(r"[?;]|%3f|%3b", url, re.IGNORECASE) and scheme != "file":  # it may be a token, and would be stored
        raise SourceError("a source's URL may have no part behind '?' or ';'", "Give credentials to git instead.")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise SourceError(f"{text!r} is not a URL: {error}", FORMS) from error
    if scheme != "file" and not parts.hostname:
        raise SourceError(f"{text!r} names no host", FORMS)
    if parts.hostname and parts.hostname.startswith("-"):
        raise SourceError(f"{text!r}: a host cannot start with '-'", FORMS)
    start = url.index("://") + 3 + len(parts.netloc)
    if scheme == "file" and Path(url[start:]).exists():
        return GitSource(url)
    location, rev = _split_rev(url[start:], text)
    if not location.strip("/"):
        raise SourceError(f"{text!r} names no repository", FORMS)
    return GitSource(url[:start] + location, rev)


def _split_rev(location: str, text: str) -> tuple[str, str | None]:
    """Split at the last '@' in the last path segment that follows a name (so `/@scope/x` keeps its '@')."""
    match = re.match(r"^(.*[^/])@([^@]*)$", location)
    if not match:
        return location, None
    rev = match.group(2)
    if not rev or rev.startswith(("-", "/")) or re.search(r"[\s~^:?*\[\\]|\.\.", rev):
        raise SourceError(f"{text!r}: {rev!r} is not a revision", "Name a branch, a tag or a commit after '@'.")
    return match.group(1), rev
