"""The first layer of the defence: what a prediction may not touch, by path alone, in any language.

Tests, and what runs them: a fix of the program needs neither. The files of the bug itself are exempt, whatever their
names. Files with settings of both the program and its tests are not refused here; `settings.py` compares them.
"""

import fnmatch
import posixpath
import re
import sys
import unicodedata
from collections.abc import Callable, Sequence, Set

from selfplay import patches
from selfplay.artifact import Artifact
from selfplay.patches import FilePatch
from selfplay.patches.functions import find_tests
from selfplay.patches.model import SYMLINK_MODE

LONGEST_NAME = 255
_NAMES = (
    "conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml", "tox.ini", "noxfile.py",
    "sitecustomize.py", "usercustomize.py", "*.pth", "*.egg-link", "*.pyc", "*.pyo", "pyvenv.cfg", ".coveragerc",
    ".env", ".env.local", ".env.test*", ".envrc", ".python-version", ".tool-versions", ".npmrc", ".yarnrc*",
    ".pnpmfile.*", ".nvmrc", ".node-version", ".mocharc*", ".nycrc*", ".c8rc*", ".taprc", ".babelrc*", "babel.config.*",
    "jest.*", "vitest.*", "vite.config.*", "bunfig.toml", "deno.json*", "karma.*", "ava.config.*",
    ".swcrc", ".gitattributes", ".gitmodules", ".gitconfig", ".bashrc", ".profile", ".bash_profile", ".bats*",
    "phpunit.xml*", ".rspec", "ctesttestfile.cmake",
)  # fmt: skip
_REFERRED = ("jest-*", ".env.*")
"""Files that are read only if another file names them. Only protected files can name a new one."""
_FOLDERS = (
    "__pycache__", "node_modules", ".git", ".venv", "venv", "site-packages", "*.dist-info", "*.egg-info",
    ".cargo", ".mvn", ".yarn", ".hypothesis", ".pytest_cache",
)  # fmt: skip
_RUNNERS = frozenset({
    "pytest", "_pytest", "pluggy", "iniconfig", "packaging", "exceptiongroup", "tomli", "py", "colorama", "pygments",
    "unittest2", "nose", "hypothesis", "_hypothesis_pytestplugin", "coverage", "xdist", "execnet",
})  # fmt: skip
_PROGRAMS = frozenset({
    "pytest", "py.test", "python", "python3", "node", "npm", "npx", "yarn", "pnpm", "jest", "mocha", "vitest", "bats",
    "bash", "sh", "env", "make", "tox", "nox", "go", "cargo", "git", "ruby", "rspec", "phpunit", "mktemp", "cat",
})  # fmt: skip
_TESTS_AT_RUN_TIME = re.compile(
    r"\bTestCase\b|\bload_tests\b|\bpytest\b|\bdoctest\b|\b(?:def|function|class)\s+_*(?:assert|expect)", re.IGNORECASE
)
"""What tests depend on: their cases, and their assertion helpers."""
_PLUGINS = ("pytest_*.py", "*_pytest_plugin.py", "selfplay_*.py")


def refusal(
    sections: Sequence[FilePatch], artifact: Artifact, original: Callable[[str], str | None] = lambda path: None
) -> tuple[str, str] | None:
    """(reason, sentence) for the first section of a prediction that touches tests or what runs them; None if there is
    none.

    `original`: the text of a file of the original; None where there is no such file."""
    own = {plain(path) for path in patches.touched_paths(artifact.bug_inject)}
    own |= {f"{folder}/" for path in own for folder in _packages(path)}
    tests = {plain(path) for path in artifact.test_files}
    found = (_refusal(patch, artifact, original, own, tests) for patch in sections)
    return next((why for why in found if why), None)


def _refusal(
    patch: FilePatch,
    artifact: Artifact,
    original: Callable[[str], str | None],
    own: Set[str],
    tests: Set[str],
) -> tuple[str, str] | None:
    for path in patch.paths:
        if _of_tests(plain(path), tests):
            return "touches-tests", f"{path!r} is one of the oracle's test files"
        if plain(path) in own:
            continue
        looks = patches.is_test_file(path) or patches.is_test_file(plain(path))
        if (looks and not _program(path, original(path))) or _claims(path, original):
            return "touches-tests", f"{path!r} is a test file"
        new = path == patch.new_path != patch.old_path
        why = _infrastructure(path, artifact) or (_shadow(path, own) if new else _referred(path))
        if why:
            return "touches-infrastructure", f"{path!r} {why}"
    return _link(patch, tests)


def plain(path: str) -> str:
    """The path as a lenient file system compares it: case-insensitive, with one form of accents and look-alike
    characters.

    A path with a name too long for any file is returned unchanged: normalising many accents in a row takes quadratic
    time."""
    if any(len(name) > LONGEST_NAME for name in path.split("/")):
        return path
    return unicodedata.normalize("NFKC", path).casefold()


def _of_tests(path: str, tests: Set[str]) -> bool:
    """Is it one of the tests, or in a folder of a test's name?"""
    lengths = {len(test) for test in tests}
    return any(path[:length] in tests for length in lengths if path[length : length + 1] in ("", "/"))


def _program(path: str, text: str | None) -> bool:
    """Is it a module of the program called `test.py` that has no tests in it, like a web framework's test client?"""
    named = posixpath.basename(path) in ("test.py", "tests.py", "testing.py")
    alone = named and not patches.is_test_file(posixpath.join(posixpath.dirname(path), "x.py"))
    return alone and text is not None and not find_tests(path, text) and not _TESTS_AT_RUN_TIME.search(text)


def _claims(path: str, original: Callable[[str], str | None]) -> bool:
    """Is it a `testing.py` of the program that tests use for their assertions?"""
    text = original(path) if posixpath.basename(path) in ("testing.py", "_testing.py") else None
    return text is not None and _TESTS_AT_RUN_TIME.search(text) is not None


def _referred(path: str) -> str:
    named = any(fnmatch.fnmatchcase(posixpath.basename(plain(path)), pattern) for pattern in _REFERRED)
    return "may configure what runs the tests" if named else ""


def _infrastructure(path: str, artifact: Artifact) -> str:
    name, folders = posixpath.basename(plain(path)), plain(path).split("/")[:-1]
    if any(fnmatch.fnmatchcase(name, pattern) for pattern in _NAMES):
        return "configures or extends what runs the tests"
    if any(fnmatch.fnmatchcase(folder, pattern) for folder in folders for pattern in _FOLDERS):
        return "is in a folder of installed or compiled things"
    if name in _PROGRAMS:
        return "has the name of a program that runs the tests"
    if path not in artifact.test_script or not ("." in path or "/" in path):  # a bare word may occur by chance
        return ""
    named = re.search(rf"(?<![\w/.-])(?:\./)?{re.escape(path)}(?![\w/-])", artifact.test_script)
    return "is named by the test script" if named else ""


def _shadow(path: str, own: Set[str]) -> str:
    """A new module that would be imported instead of one of the runner's or the standard library's, or as a plugin.

    `own`: paths of the bug, and their packages. A package of the bug belongs to the project, whatever its name."""
    names = [posixpath.basename(path), *(f"{folder}.py" for folder in path.split("/")[:-1])]
    if any(fnmatch.fnmatchcase(name, pattern) for name in names for pattern in _PLUGINS):
        return "has the name of a pytest plugin"
    top = path.removeprefix("src/").partition("/")[0].partition(".")[0]
    if "/" in path and f"{_root(path)}{top}/" in own:
        return ""
    if path.endswith((".py", ".so", ".pyd")) and top in _RUNNERS | sys.stdlib_module_names:
        return f"would be imported in place of the module {top!r}"
    return ""


def _root(path: str) -> str:
    return "src/" if path.startswith("src/") else ""


def _packages(path: str) -> tuple[str, ...]:
    """The top folder of a path, and the one in `src`."""
    folders = path.split("/", 2)[:-1]
    return tuple("/".join(folders[: number + 1]) for number in range(len(folders)))


def _link(patch: FilePatch, tests: Set[str]) -> tuple[str, str] | None:
    if patch.new_mode != SYMLINK_MODE or patch.new_path is None:
        return None
    target = next(iter(patch.added_lines), "")
    place = posixpath.normpath(posixpath.join(posixpath.dirname(patch.new_path), target))
    if target.startswith("/") or place.startswith(".."):
        return "touches-infrastructure", f"{patch.new_path!r} is a link that leaves the repository"
    if patches.is_test_file(f"{place}/x") or plain(place) in tests:
        return "touches-tests", f"{patch.new_path!r} is a link to tests"
    return None
