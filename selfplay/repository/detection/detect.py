"""Detects a tree's language and what its tests need, from its files: nothing is executed.

Requirements come in tiers: those for tests win over those for development; hints (tox, plugin fixtures) only add to
them; a `requirements.txt` counts if the project declares nothing installable.
"""

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path

from packaging.specifiers import SpecifierSet

from selfplay.plain_text import safe_relative, well_formed
from selfplay.repository.detection.declared import declared_names, home_of
from selfplay.repository.detection.metadata import Metadata, read_metadata
from selfplay.repository.fetching.reading import SPECIFIER, BuildPlan

LANGUAGES = {
    "javascript": ("package.json",),
    "rust": ("Cargo.toml",),
    "go": ("go.mod",),
    "java": ("pom.xml", "build.gradle", "build.gradle.kts"),
    "ruby": ("Gemfile",),
    "c": ("CMakeLists.txt", "configure", "configure.ac", "meson.build", "Makefile", "GNUmakefile"),
}
REQUIREMENT_FILES = (
    "{0}-requirements.txt", "requirements-{0}.txt", "{0}_requirements.txt", "requirements_{0}.txt",
    "requirements.{0}.txt", "requirements/{0}.txt", "requirements/requirements-{0}.txt", "{0}/requirements.txt",
)  # fmt: skip
TEST_NAMES = ("test", "tests", "testing", "unittest", "pytest")
DEV_NAMES = ("dev", "develop", "development", "ci")
PLUGINS = {
    "pytest-asyncio": r"asyncio_mode|pytest\.mark\.asyncio",
    "pytest-django": r"DJANGO_SETTINGS_MODULE|pytest\.mark\.django_db",
    "hypothesis": r"^(?:from|import) hypothesis\b",
    "trio": r"pytest\.mark\.trio",
}
FIXTURES = {
    "mocker": "pytest-mock",
    "benchmark": "pytest-benchmark",
    "requests_mock": "requests-mock",
    "httpserver": "pytest-httpserver",
    "subtests": "pytest-subtests",
}
"""Test arguments (fixtures) -> the plugin that provides them."""
_ARGUMENTS = re.compile(r"def test_\w+\(([^)]*)")
MAX_WORD, MAX_WORDS = 2_000, 1_000
MAX_SCANNED = 400
MAX_SCANNED_BYTES = 1 << 20
"""Only this many bytes of a file are read."""


def detect(tree: Path) -> BuildPlan:
    """The plan for a tree (a checkout without `.git`)."""
    metadata = read_metadata(tree)
    language = _language(tree, metadata)
    if language != "python":
        return BuildPlan(language)
    extras, groups, files, packages = (_usable(texts) for texts in _requirements(tree, metadata))
    return BuildPlan(
        language,
        next(iter(_usable((metadata.name,))), None),
        _versions(metadata.requires_python),
        metadata.installable,
        extras,
        groups,
        files,
        packages,
        _usable(metadata.dependencies),
        _roots(tree, metadata),
        declared_names(tree),
        home_of(tree),
    )


def _usable(texts: Iterable[object]) -> tuple[str, ...]:
    """The texts that can be a word of a command line."""
    words = (text for text in texts if isinstance(text, str) and len(text) <= MAX_WORD and "\0" not in text)
    return tuple(word for word in words if well_formed(word) == word)[:MAX_WORDS]


def _versions(text: str | None) -> str | None:
    """A version range for choosing an interpreter; None, which means any, if the text is not a range."""
    if text is None or len(text) > MAX_WORD:
        return None
    try:
        plain = text if SPECIFIER.fullmatch(text) else str(SpecifierSet(text))
        SpecifierSet(plain)
    except ValueError:
        return None
    return plain if SPECIFIER.fullmatch(plain) else None


def _language(tree: Path, metadata: Metadata) -> str:
    if metadata.declared:
        return "python"
    for language, markers in LANGUAGES.items():
        if any((tree / marker).is_file() for marker in markers):
            return language
    return "python" if next(tree.rglob("*.py"), None) else "unknown"


def _requirements(
    tree: Path, metadata: Metadata
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """(extras, groups, requirement files, packages) of the first tier that is not empty."""
    plugins = _plugins(tree)
    for names in (TEST_NAMES, DEV_NAMES):
        extras = _named(metadata.extras, names)
        groups = _named(metadata.groups, names)
        files = tuple(path for path in _requirement_files(tree, names))
        packages = tuple(p for group in _named(metadata.group_packages, names) for p in metadata.group_packages[group])
        if names is TEST_NAMES:
            packages += metadata.tests_require
        if extras or groups or files or packages:
            return extras, groups, files + _base_file(tree, metadata), packages + plugins
    return (), (), _base_file(tree, metadata), metadata.hints + plugins


def _named(available: Iterable[str], names: tuple[str, ...]) -> tuple[str, ...]:
    """The members of `available` that match one of `names`, as a whole or in one of their words (`unit-tests`)."""
    return tuple(name for name in available if set(re.split(r"[-_. ]", name.lower())) & set(names))


def _requirement_files(tree: Path, names: tuple[str, ...]) -> list[str]:
    found = (pattern.format(name) for pattern in REQUIREMENT_FILES for name in names)
    return [path for path in dict.fromkeys(found) if (tree / path).is_file()]


def _base_file(tree: Path, metadata: Metadata) -> tuple[str, ...]:
    if metadata.installable:
        return ()
    return tuple(path for path in ("requirements.txt", "requirements/base.txt") if (tree / path).is_file())[:1]


def _plugins(tree: Path) -> tuple[str, ...]:
    """pytest plugins whose marks, fixtures or options the tests use."""
    candidates = [path for pattern in ("test*.py", "*_test.py", "conftest.py") for path in sorted(tree.rglob(pattern))]
    settings = [tree / name for name in ("pyproject.toml", "pytest.ini", "tox.ini", "setup.cfg")]
    found: dict[str, None] = {}
    for path in [*settings, *candidates[:MAX_SCANNED]]:
        if path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as stream:
            text = stream.read(MAX_SCANNED_BYTES).decode("utf-8", "replace")
        found |= dict.fromkeys(plugins_in(text))
    return tuple(found)


def plugins_in(text: str) -> list[str]:
    """The pytest plugins that a test file or a settings file uses."""
    named = [plugin for plugin, use in PLUGINS.items() if re.search(use, text, re.MULTILINE)]
    words = {word for arguments in _ARGUMENTS.findall(text) for word in re.findall(r"\w+", arguments)}
    return named + [plugin for fixture, plugin in FIXTURES.items() if fixture in words]


def _roots(tree: Path, metadata: Metadata) -> tuple[str, ...]:
    if metadata.package_root and safe_relative(root := posixpath.normpath(metadata.package_root)):
        return (root,) if _usable((root,)) else (".",)
    for name in ("src", "lib"):
        folder = tree / name
        if folder.is_dir() and not (folder / "__init__.py").exists() and _has_modules(folder):
            return (name,)
    return (".",)


def _has_modules(folder: Path) -> bool:
    return any(folder.glob("*.py")) or any(folder.glob("*/__init__.py")) or any(folder.glob("*/*/__init__.py"))
