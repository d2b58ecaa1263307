"""`pypi:NAME[==VERSION]`: the release's sdist as HEAD, with sdists of earlier releases behind it, one commit each.

They are only downloaded here, and checked against the index's SHA-256; a sandbox unpacks them (`checkouts`).

Commits are dated from a fixed day, not from upload times, which some indexes lack: equal releases give equal commit ids
on every machine.
"""

from contextlib import AbstractContextManager
from datetime import UTC
from pathlib import Path

import requests
from packaging.version import Version
from pypi_simple import (
    PYPI_SIMPLE_ENDPOINT,
    DistributionPackage,
    NoSuchProjectError,
    PyPISimple,
    UnsupportedContentTypeError,
)
from pypi_simple.errors import DigestMismatchError, NoDigestsError

from selfplay.checksums import sha256_of
from selfplay.formatting import Say
from selfplay.package_versions import version_of
from selfplay.repository.errors import SourceError
from selfplay.repository.fetching.gitdir import GitDir
from selfplay.repository.fetching.reading import ARCHIVES, ReadOrder, Release
from selfplay.repository.fetching.source import PypiSource
from selfplay.repository.network.index_session import IndexSession
from selfplay.repository.network.indexes import configured
from selfplay.sandbox import Mount
from selfplay.sandbox.owners import scratch, sweep

TIMEOUT = 60.0
MAX_SDIST, MAX_WHEEL = 512 << 20, 8 << 30
ENDINGS = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")  # in order of preference


def download(
    source: PypiSource, store: GitDir, *, downloads: Path, releases: int, progress: Say
) -> tuple[ReadOrder, GitDir, tuple[Mount, ...]]:
    """The order for a sandbox with the release's sdist and those of up to `releases` earlier ones, and their mounts.
    Raises `SourceError`."""
    _make(downloads)
    notes: list[str] = []
    found: list[tuple[str, Path]] = []
    with _client() as client:
        sdists = list_sdists(client, source)
        head = choose(sdists, source)
        past = [v for v in sorted(sdists) if v < head and _final(v, sdists[v])][-releases:] if releases > 0 else []
        for version in (*past, head):
            progress(f"fetching {source.name} {version}")
            try:
                found.append((str(version), _download(client, sdists[version], downloads)))
            except SourceError as error:
                if version == head:
                    raise
                found.append((str(version), Path()))
                notes.append(f"release {version} is missing from the history: {error.message}")
    mounts, given = [], []
    for day, (text, archive) in enumerate(found):
        place = f"{ARCHIVES}/{day}{_ending(archive.name)}" if archive.name else ""
        given.append(Release(text, place))
        if place:
            archive.chmod(0o644)
            mounts.append(Mount(archive, place))
    uploaded = sdists[head].upload_time
    order = ReadOrder(
        "releases", str(source), name=source.name, releases=tuple(given), notes=tuple(notes),
        dated=uploaded.astimezone(UTC).date().isoformat() if uploaded else "",
    )  # fmt: skip
    return order, store, tuple(mounts)


def _make(downloads: Path) -> None:
    """Create the folder, and remove what killed downloads left there."""
    downloads.mkdir(parents=True, exist_ok=True)
    sweep(downloads)


def _client() -> PyPISimple:
    endpoint = (configured().default or PYPI_SIMPLE_ENDPOINT).rstrip("/") + "/"
    return PyPISimple(endpoint, session=IndexSession(endpoint))


def _packages(client: PyPISimple, name: str) -> list[DistributionPackage]:
    """The files on the index's page of a project; they may be requested from now on."""
    packages = list(client.get_project_page(name, timeout=TIMEOUT).packages)
    assert isinstance(client.s, IndexSession)
    client.s.allow(package.url for package in packages)
    return packages


def list_sdists(client: PyPISimple, source: PypiSource) -> dict[Version, DistributionPackage]:
    """Version -> its sdist (the preferred archive kind if there are several)."""
    try:
        packages = _packages(client, source.name)
    except NoSuchProjectError as error:
        raise SourceError(f"{source}: the package index has no project {source.name!r}") from error
    except (requests.RequestException, UnsupportedContentTypeError, ValueError) as error:
        raise SourceError(
            f"{source}: the package index cannot be reached: {str(error)[:300]}",
            "Check the network and the index configured for pip or uv.",
        ) from error
    sdists: dict[Version, DistributionPackage] = {}
    for package in packages:
        if package.package_type != "sdist" or not package.version or not package.filename.endswith(ENDINGS):
            continue
        version = version_of(package.version)
        if version is None:
            continue
        if version not in sdists or _preference(package) < _preference(sdists[version]):
            sdists[version] = package
    return sdists


def choose(sdists: dict[Version, DistributionPackage], source: PypiSource) -> Version:
    """The requested version, else the newest final one that was not yanked. Raises `SourceError`."""
    if not sdists:
        raise SourceError(f"{source}: the package index has no sdist of {source.name!r}", "Name a git URL instead.")
    finals = sorted(version for version, package in sdists.items() if _final(version, package))
    if source.version is None:
        return finals[-1] if finals else max(sdists)
    wanted = Version(source.version)
    if wanted not in sdists:
        newest = ", ".join(str(version) for version in sorted(sdists)[-5:])
        raise SourceError(f"{source}: there is no sdist of this version", f"The newest with one are: {newest}.")
    return wanted


def fetch_wheel(name: str, version: str, sha256: str, downloads: Path) -> Path:
    """The pure wheel of one release, downloaded once. Raises `SourceError` unless it has this SHA-256."""
    _make(downloads)
    with _client() as client:
        try:
            packages = _packages(client, name)
        except (requests.RequestException, NoSuchProjectError, UnsupportedContentTypeError) as error:
            raise SourceError(
                f"{name} cannot be fetched: {error}", "Check the network and the index configured for pip or uv."
            ) from error
        wheels = [p for p in packages if p.package_type == "wheel" and p.version == version]
        wanted = [package for package in wheels if package.digests.get("sha256") == sha256]
        if not wanted:
            raise SourceError(f"the package index has no wheel of {name} {version} with SHA-256 {sha256}")
        return _download(client, wanted[0], downloads, MAX_WHEEL)


def _final(version: Version, package: DistributionPackage) -> bool:
    return not version.is_prerelease and not package.is_yanked


def _preference(package: DistributionPackage) -> int:
    return ENDINGS.index(_ending(package.filename))


def _ending(name: str) -> str:
    return next(ending for ending in ENDINGS if name.endswith(ending))


class _Bounded(AbstractContextManager["_Bounded"]):
    """Watches a download, and stops it if it is larger than any source."""

    def __init__(self, name: str, most: int) -> None:
        self.name, self.left, self.most = name, most, most

    def update(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise SourceError(f"{self.name} is larger than {self.most:,} bytes", "Name a git URL instead.")

    def __exit__(self, *_: object) -> None:
        pass


def _download(client: PyPISimple, package: DistributionPackage, downloads: Path, most: int = MAX_SDIST) -> Path:
    expected = package.digests.get("sha256")
    if expected is None:
        raise SourceError(f"{package.filename}: the package index states no SHA-256 for it")
    name = Path(package.filename).name
    kept = downloads / f"{expected[:16]}-{name}"
    if kept.is_file() and sha256_of(kept) == expected:
        return kept
    with scratch(downloads) as folder:
        try:
            bounded = _Bounded(package.filename[:200], most)
            part = folder / "part"
            client.download_package(package, part, verify=True, timeout=TIMEOUT, progress=lambda _: bounded)
            part.replace(kept)
        except (requests.RequestException, DigestMismatchError, NoDigestsError) as error:
            raise SourceError(f"{package.filename} cannot be downloaded: {error}") from error
    return kept
