"""`pypi:NAME[==VERSION]`: that release's sdist as HEAD, sdists of earlier releases behind it, one commit each.

Commits are dated from a fixed day, not from upload times, which not every index provides: the same releases give the
same commit ids on every machine.
"""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path

import requests
from packaging.version import InvalidVersion, Version
from pypi_simple import DistributionPackage, NoSuchProjectError, PyPISimple, UnsupportedContentTypeError
from pypi_simple.errors import DigestMismatchError, NoDigestsError

from selfplay.repository.archive import unpack
from selfplay.repository.disk import OF_WRITING
from selfplay.repository.errors import SourceError
from selfplay.repository.fetch import Checkout, Progress
from selfplay.repository.gitdir import GitDir
from selfplay.repository.indexes import configured
from selfplay.repository.source import PypiSource

TIMEOUT = 60.0
ENDINGS = (".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".zip")  # in order of preference


def fetch_pypi(source: PypiSource, store: GitDir, *, downloads: Path, releases: int, progress: Progress) -> Checkout:
    """The release's tree, with up to `releases` earlier ones as its history. Raises `SourceError`."""
    downloads.mkdir(parents=True, exist_ok=True)
    with _client() as client:
        sdists = list_sdists(client, source)
        head = choose(sdists, source)
        past = [v for v in sorted(sdists) if v < head and _final(v, sdists[v])][-releases:] if releases > 0 else []
        notes: list[str] = []
        parents: list[str] = []
        for day, version in enumerate([*past, head]):
            progress(f"fetching {source.name} {version}")
            try:
                tree, dropped = _tree(client, sdists[version], store, downloads)
            except SourceError as error:
                if version == head:
                    raise
                notes.append(f"release {version} is missing from the history: {error.message}")
                continue
            notes += dropped if version == head else []
            parents = [store.commit_tree(tree, f"{source.name} {version}\n", parents, day=day)]
    return Checkout(store, parents[0], str(head), str(head), tuple(notes))


def _client() -> PyPISimple:
    index = configured().default
    return PyPISimple(endpoint=index.rstrip("/") + "/") if index else PyPISimple()


def list_sdists(client: PyPISimple, source: PypiSource) -> dict[Version, DistributionPackage]:
    """Version -> its sdist (the most common archive kind when there are several)."""
    try:
        page = client.get_project_page(source.name, timeout=TIMEOUT)
    except NoSuchProjectError as error:
        raise SourceError(f"{source}: the package index has no project {source.name!r}") from error
    except (requests.RequestException, UnsupportedContentTypeError) as error:
        raise SourceError(
            f"{source}: the package index cannot be reached: {error}",
            "Check the network and the index configured for pip or uv.",
        ) from error
    sdists: dict[Version, DistributionPackage] = {}
    for package in page.packages:
        if package.package_type != "sdist" or not package.version or not package.filename.endswith(ENDINGS):
            continue
        try:
            version = Version(package.version)
        except InvalidVersion:
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
    """The pure wheel of one release, downloaded once. Raises `SourceError` unless it is the one with this SHA-256."""
    downloads.mkdir(parents=True, exist_ok=True)
    with _client() as client:
        try:
            page = client.get_project_page(name, timeout=TIMEOUT)
        except (requests.RequestException, NoSuchProjectError, UnsupportedContentTypeError) as error:
            raise SourceError(
                f"{name} cannot be fetched: {error}", "Check the network and the index configured for pip or uv."
            ) from error
        wheels = [p for p in page.packages if p.package_type == "wheel" and p.version == version]
        wanted = [package for package in wheels if package.digests.get("sha256") == sha256]
        if not wanted:
            raise SourceError(f"the package index has no wheel of {name} {version} with SHA-256 {sha256}")
        return _download(client, wanted[0], downloads)


def _final(version: Version, package: DistributionPackage) -> bool:
    return not version.is_prerelease and not package.is_yanked


def _preference(package: DistributionPackage) -> int:
    return next(rank for rank, ending in enumerate(ENDINGS) if package.filename.endswith(ending))


def _tree(client: PyPISimple, package: DistributionPackage, store: GitDir, downloads: Path) -> tuple[str, list[str]]:
    """The tree id of an sdist's content, downloaded once and verified by its SHA-256, and notes on it."""
    archive = _download(client, package, downloads)
    folder = Path(tempfile.mkdtemp(dir=store.path, prefix="sdist-"))
    try:
        notes = unpack(archive, folder)
        return store.write_folder(folder), notes
    except SourceError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno in OF_WRITING:
            raise error.__cause__ from None  # the archive is good: the disk is full
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _download(client: PyPISimple, package: DistributionPackage, downloads: Path) -> Path:
    expected = package.digests.get("sha256")
    if expected is None:
        raise SourceError(f"{package.filename}: the package index states no SHA-256 for it")
    name = Path(package.filename).name
    kept = downloads / f"{expected[:16]}-{name}"
    if kept.is_file() and hashlib.sha256(kept.read_bytes()).hexdigest() == expected:
        return kept
    descriptor, temporary = tempfile.mkstemp(dir=downloads, prefix="part-")
    os.close(descriptor)
    try:
        client.download_package(package, temporary, verify=True, timeout=TIMEOUT)
        Path(temporary).replace(kept)
    except (requests.RequestException, DigestMismatchError, NoDigestsError) as error:
        raise SourceError(f"{package.filename} cannot be downloaded: {error}") from error
    finally:
        Path(temporary).unlink(missing_ok=True)
    return kept
