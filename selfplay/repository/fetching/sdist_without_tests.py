"""Handles releases whose sdist contains no tests: the project's repository is read instead, at the release's tag.

The URL comes from the release's metadata, written by the same authors as the code to be built. It is used only if it
names a repository on one of a few well-known hosts, and it is logged; nobody's credentials go there: it may name
what only this user can read.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from selfplay.repository.detection.declared import repository_url
from selfplay.repository.errors import NoTests, SourceError
from selfplay.repository.fetching.fetch import access_to, reading
from selfplay.repository.fetching.gitdir import GitDir
from selfplay.repository.fetching.quarantine import Quarantine
from selfplay.repository.fetching.reading import SourceFound
from selfplay.repository.fetching.source import GitSource, PypiSource, Source
from selfplay.repository.fetching.transport import located
from selfplay.repository.workshop import Workshop

MAYBE_TESTS = re.compile(r"(?:.*/)?(?:tests?/.*|test[^/]*\.py|[^/]*_tests?\.py)", re.IGNORECASE | re.DOTALL)
HELPERS = re.compile(r"(?:.*/)?(?:testing|test_?client|test_?utils?|test_?helpers?)\.py", re.IGNORECASE | re.DOTALL)
TAGS = (
    "v{0}",
    "{0}",
    "{1}-{0}",
    "{1}-v{0}",
    "{1}@{0}",
    "release-{0}",
    "release/{0}",
    "rel_{2}",
    "{1}_{2}",
    "version-{0}",
)


@contextmanager
def reading_tested(
    source: Source, workshop: Workshop, releases: int, *, as_it_is: bool = False
) -> Iterator[tuple[str, SourceFound, Quarantine]]:
    """The source's name for messages, what it contains, and its sandbox; for a release without tests, its repository's.
    `as_it_is`: never use the repository. Raises `SourceError`, and `NoTests` if the release names no repository."""
    with _read(source, workshop, workshop.work, releases) as (found, inside):
        if as_it_is or not isinstance(source, PypiSource) or may_hold_tests(found.tracked, found.plan.language):
            yield str(source), found, inside
            return
        home = home_of(source, found)
        name, version = source.name, found.version or found.revision
    folder = workshop.work / "repository"
    folder.mkdir()
    folder.chmod(0o711)
    elsewhere = at_tag(GitDir.create(folder / "tags"), home, name, version)
    workshop.progress(f"the sdist of {name} {version} holds no tests: its repository is taken, {elsewhere}")
    with _read(elsewhere, workshop, folder, releases) as (found, inside):
        yield str(elsewhere), found, inside


def _read(
    source: Source, workshop: Workshop, work: Path, releases: int
) -> AbstractContextManager[tuple[SourceFound, Quarantine]]:
    return reading(
        source,
        backend=workshop.backend,
        work=work,
        downloads=workshop.downloads,
        releases=releases,
        progress=workshop.progress,
    )


def may_hold_tests(paths: Iterable[str], language: str) -> bool:
    """Whether a Python tree has a file that could be a test; always true for other languages."""
    return language != "python" or any(
        path.endswith(".py") and MAYBE_TESTS.fullmatch(path) and not HELPERS.fullmatch(path) for path in paths
    )


def home_of(source: PypiSource, found: SourceFound) -> str:
    """The URL of the release's repository, checked again because it comes from a sandbox. Raises `NoTests`."""
    url = repository_url(found.plan.home)
    if not url:
        raise NoTests(
            f"the sdist of {source.name} {found.revision} holds no tests, and its metadata name no repository",
            "Give the git URL of the project's repository as the source instead.",
        )
    return url


def at_tag(store: GitDir, url: str, name: str, version: str) -> GitSource:
    """The repository at the tag of this version. Raises `SourceError` if it does not answer, or has no such tag."""
    without = f"the sdist of {name} {version} holds no tests, and its repository {url}"
    stranger = GitSource(url, anonymous=True)
    source, lines = located(store, stranger, access_to(stranger))
    tags = {line.partition("\trefs/tags/")[2].removesuffix("^{}") for line in lines}
    if not lines:
        hint = f"Check the network, or give its URL as the source: selfplay curriculum {url}"
        raise SourceError(f"{without} does not answer, or has no tags", hint)
    wanted = [tag.format(version, name, version.replace(".", "_")) for tag in TAGS]
    found = next((tag for tag in wanted if tag in tags), None)
    if found is None:
        hint = f"Name the revision that you want: selfplay curriculum {url}@REVISION"
        raise SourceError(f"{without} has no tag of this version", hint)
    return GitSource(source.url, found, anonymous=True)
