"""The package indexes that the user configured for pip or uv, read from the same places as those tools do.

The environment wins over pip's configuration files, uv's variables over pip's. Without any, the tools' default is used;
no index is named here. Credentials in an index URL stay out of builds if possible (see `credentials.py`), and so do
passwords of the user's proxies (`upstream.py` reads them).
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from selfplay import subprocesses
from selfplay.formatting import shortened
from selfplay.repository.errors import SourceError
from selfplay.repository.network.hosts import ASKED_SECONDS, address_of
from selfplay.sandbox import Mount
from selfplay.user_paths import home

CERTIFICATES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
CA_INSIDE = "/build/ca.pem"
_REMOTE = re.compile(r"https?:|[^/@]*+//[^/]*@", re.IGNORECASE)
"""How a URL begins that needs a network, or holds a password: no local folder."""


@dataclass(frozen=True)
class Indexes:
    """`default`: the main index's URL (None: the tool's own); `extra`: additional ones; `find_links`: flat folders."""

    default: str | None = None
    extra: tuple[str, ...] = ()
    find_links: tuple[str, ...] = ()


def configured(environ: Mapping[str, str] | None = None) -> Indexes:
    """The user's configuration; `environ` replaces the process's environment and hides pip's files (for tests). Raises
    `SourceError`, without the malformed URL, since it may hold a password."""
    values = _pip_files() if environ is None else {}
    environ = os.environ if environ is None else environ

    def words(variables: tuple[str, ...], option: str) -> tuple[str, ...]:
        where, found = next(
            ((name, environ[name]) for name in variables if environ.get(name)), (option, values.get(option, ""))
        )
        urls = tuple(word.split("=", 1)[1] if "=" in word.split("://")[0] else word for word in found.split())
        if any(is_malformed(url) for url in urls):
            raise SourceError(f"{where} of pip or uv names no URL of a package index", "Check its host and its port.")
        return urls

    default = words(("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL"), "index-url")
    extra = words(("UV_INDEX", "UV_EXTRA_INDEX_URL", "PIP_EXTRA_INDEX_URL"), "extra-index-url")
    return Indexes(default[0] if default else None, extra, words(("UV_FIND_LINKS", "PIP_FIND_LINKS"), "find-links"))


def is_malformed(url: str) -> bool:
    """Whether it needs a network, or holds a password, and names no host and port."""
    return bool(_REMOTE.match(url)) and address_of(url) is None


def _pip_files() -> dict[str, str]:
    """The options of pip's configuration files, as `pip config` merges them; {} without pip."""
    command = [*subprocesses.PYTHON, "-m", "pip", "config", "list", "--disable-pip-version-check"]
    try:
        listing = subprocesses.run(command, timeout=ASKED_SECONDS)
    except (subprocesses.Failed, OSError) as error:
        raise SourceError(f"pip does not say which index it uses: {error}", "Set PIP_INDEX_URL.") from error
    values = {}
    for line in listing.stdout.decode("utf-8", "replace").splitlines():
        name, _, value = line.partition("=")
        section, _, option = name.partition(".")
        if section in ("global", "install"):
            values[option] = value.strip().strip("'\"").replace("\\n", " ")
    return values


def for_sandbox(indexes: Indexes) -> tuple[dict[str, str], tuple[Mount, ...]]:
    """uv's and pip's variables for these indexes, and the local folders and certificates they need."""
    env: dict[str, str] = {}
    mounts: dict[str, Mount] = {}
    extra, links = list(indexes.extra), list(indexes.find_links)
    for location in [indexes.default or "", *extra, *links]:
        if local := local_folder(location):
            mounts[str(local)] = Mount(local, str(local))
    if indexes.default:
        env |= dict.fromkeys(("UV_DEFAULT_INDEX", "PIP_INDEX_URL"), indexes.default)
    if extra:
        env |= dict.fromkeys(("UV_INDEX", "PIP_EXTRA_INDEX_URL"), " ".join(extra))
        env["UV_INDEX_STRATEGY"] = "unsafe-best-match"  # pip's meaning of "extra"
    if links:
        env |= {"UV_FIND_LINKS": ",".join(links), "PIP_FIND_LINKS": " ".join(links)}
    bundle = Path(trusted(os.environ))
    if bundle.is_file():
        mounts[CA_INSIDE] = Mount(bundle, CA_INSIDE)
        env |= dict.fromkeys((*CERTIFICATES, "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS"), CA_INSIDE)
    return env, tuple(mounts.values())


def trusted(environ: Mapping[str, str]) -> str:
    """The certificate bundle that the user set; empty for the system's."""
    return next((environ[name] for name in CERTIFICATES if environ.get(name)), "")


def local_folder(location: str) -> Path | None:
    """The existing folder that a file URL or a path names, else None. Raises `SourceError` for one that would show the
    user's home to builds.

    An index's `simple` folder links to files beside it, so the parent folder must be visible; but not a home.
    """
    parts = urlsplit(location)
    path = Path(unquote(parts.path) if parts.scheme == "file" else location)
    if not location or parts.scheme not in ("", "file") or not path.is_absolute() or not path.exists():
        return None
    shown = path.parent if path.name == "simple" and not _holds_home(path.parent) else path
    if _holds_home(shown):
        raise SourceError(
            f"{shortened(location)} would show every build what lies in your home", "Move the packages into a folder."
        )
    return shown


def _holds_home(folder: Path) -> bool:
    own = home()
    return own is not None and own.resolve().is_relative_to(folder.resolve())
