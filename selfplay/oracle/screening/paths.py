"""Classifies a path: part of the program, part of the tests, left behind by some program, or a file that affects how
tests run.

The path decides, and for a few names the original's content. The bug's own files belong to the program, whatever their
names. Settings files of both program and tests count as the program's here; `settings.py` compares them.
"""

import fnmatch
import posixpath
import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from selfplay import patches
from selfplay.artifact import Artifact
from selfplay.oracle.originals import OriginalFiles
from selfplay.oracle.screening.settings import is_settings_file
from selfplay.patches.functions import find_tests
from selfplay.plain_text import folders_above

LONGEST_NAME = 255
Kind = Literal["program", "tests", "left-behind", "elsewhere", "steers"]


@dataclass(frozen=True)
class PathClass:
    """The class of a path, and why: the end of a sentence that begins with the path."""

    kind: Kind
    why: str = ""

    @property
    def out(self) -> bool:
        """Whether a change of it is left out of a prediction."""
        return self.kind in ("tests", "left-behind", "elsewhere")


def _names(patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(fnmatch.translate(pattern) for pattern in patterns.split()))


_STEERING = _names(
    """conftest.py pytest.ini .pytest.ini pytest.toml .pytest.toml sitecustomize.py usercustomize.py *.pth pyvenv.cfg
    .env .env.local .env.test* .envrc .python-version .tool-versions .npmrc .yarnrc* .pnpmfile.* .nvmrc .node-version
    .mocharc* .nycrc* .c8rc* .taprc .babelrc* babel.config.* jest.* vitest.* vite.config.* bunfig.toml deno.json*
    karma.* ava.config.* .swcrc .gitconfig .bashrc .profile .bash_profile .bats* phpunit.xml* .rspec
    ctesttestfile.cmake"""
)
_REFERRED = _names("jest-* .env.*")
"""Files that are read only if another file names them; only protected files can name a new one."""
_STEERING_FOLDERS = _names(".cargo .mvn")
_LEFT_BEHIND = _names("*.pyc *.pyo *.egg-link .gitattributes .gitmodules .coverage .coverage.* *.orig *.rej *.bak *~")
"""Files that compilers, editors and `patch` leave, and git's own settings, which change how files are written, not what
they contain. They are not there when a prediction runs."""
_LEFT_FOLDERS = _names(
    """__pycache__ node_modules site-packages *.dist-info *.egg-info .eggs .yarn .hypothesis .pytest_cache .mypy_cache
    .ruff_cache .tox .nox htmlcov"""
)
_ENVIRONMENTS = _names(".venv venv")
_ELSEWHERE = _names(
    """.gitlab-ci.y*ml .travis.y*ml appveyor.y*ml .appveyor.y*ml azure-pipelines*.y*ml .cirrus.y*ml .drone.y*ml
    bitbucket-pipelines.y*ml jenkinsfile .pre-commit-config.y*ml .readthedocs.y*ml codeowners security.md .mailmap
    license license.md license.txt license.rst licence licence.md licence.txt licence.rst copying copying.lesser
    copying.md copying.txt notice notice.md notice.txt authors authors.md authors.txt authors.rst dockerfile
    *.dockerfile .dockerignore docker-compose*.y*ml compose.y*ml compose.*.y*ml hatch.toml uv.lock poetry.lock pdm.lock
    pipfile.lock"""
)
"""At the root of the tree."""
_ELSEWHERE_FOLDERS = _names(".github .gitlab .circleci .buildkite .azure-pipelines .devcontainer .vscode .idea")
"""What a project's hosts, editors and lawyers read. No test and no input says whether a change of it is right, so a
prediction may not bring one along under a repair's name."""
_PROGRAMS = frozenset(
    [
        "pytest",
        "py.test",
        "python",
        "python3",
        "node",
        "npm",
        "npx",
        "yarn",
        "pnpm",
        "jest",
        "mocha",
        "vitest",
        "bats",
        "bash",
        "sh",
        "env",
        "make",
        "tox",
        "nox",
        "go",
        "cargo",
        "git",
        "ruby",
        "rspec",
        "phpunit",
        "mktemp",
        "cat",
    ]
)
_TESTS_AT_RUN_TIME = re.compile(
    r"\bTestCase\b|\bload_tests\b|\bpytest\b|\bdoctest\b|\b(?:def|function|class)\s+_*(?:assert|expect)", re.IGNORECASE
)
"""Names that tests use: test cases and assertion helpers."""


class Places:
    """Classifies the paths of a prediction for one bug. `files`: the original."""

    def __init__(self, artifact: Artifact, files: OriginalFiles) -> None:
        self.files = files
        self.script = artifact.test_script
        self.own = {plain(path) for path in patches.touched_paths(artifact.bug_inject)}
        self._tests = {plain(path) for path in artifact.test_files}
        self._lengths = {len(test) for test in self._tests}
        self._above = {folder for test in self._tests for folder in folders_above(test)}
        self._packages: dict[str, bool] = {}

    def of(self, path: str, *, new: bool = False) -> PathClass:
        """Classify the path; `new`: the prediction creates it."""
        name = plain(path)
        if any(name[:length] in self._tests for length in self._lengths if name[length : length + 1] in ("", "/")):
            return PathClass("tests", "is one of the tests that decide")
        if name in self._above:
            return PathClass("tests", "takes the place of a folder of tests")
        if name in self.own:
            return PathClass("program")
        return self._no_program(name) or self._steering(path, name, new) or self._of_tests(path)

    def _no_program(self, name: str) -> PathClass | None:
        parts = name.split("/")
        if any(_LEFT_FOLDERS.match(part) for part in parts) or _LEFT_BEHIND.match(parts[-1]):
            return PathClass("left-behind", "is installed, compiled or kept by some program")
        environment = next((at for at, part in enumerate(parts) if _ENVIRONMENTS.match(part)), None)
        if environment is not None and not self.files.there("/".join(parts[: environment + 1])):
            return PathClass("left-behind", "is in a virtual environment")
        if (len(parts) == 1 and _ELSEWHERE.match(name)) or _ELSEWHERE_FOLDERS.match(parts[0]):
            return PathClass("elsewhere", "is not of the program: what a host, an editor or a lawyer reads")
        return None

    def _steering(self, path: str, name: str, new: bool) -> PathClass | None:
        *above, last = name.split("/")
        if _STEERING.match(last) or any(_STEERING_FOLDERS.match(part) for part in above):
            return PathClass("steers", "configures or extends what runs the tests")
        if not new and _REFERRED.match(last):
            return PathClass("steers", "may configure what runs the tests")
        if last in _PROGRAMS:
            return PathClass("steers", "has the name of a program that runs the tests")
        if path not in self.script or not ("." in path or "/" in path):  # a bare word may occur by chance
            return None
        if re.search(rf"(?<![\w/.-])(?:\./)?{re.escape(path)}(?![\w/-])", self.script):
            return PathClass("steers", "is named by the test script")
        return None

    def _of_tests(self, path: str) -> PathClass:
        if is_settings_file(path):
            return PathClass("program")
        looks = patches.is_test_file(path) or patches.is_test_file(plain(path))
        if looks and not (self._module(path) or self._package(path)):
            return PathClass("tests", "belongs to the tests")
        text = self.files.text(path) if posixpath.basename(path) in ("testing.py", "_testing.py") else None
        if text is not None and _TESTS_AT_RUN_TIME.search(text):
            return PathClass("tests", "holds assertion helpers of tests")
        return PathClass("program")

    def _module(self, path: str) -> bool:
        """Whether it is a module named like a test file that contains no tests, such as a web framework's test
        client."""
        named = posixpath.basename(path) in ("test.py", "tests.py", "testing.py")
        if not named or patches.is_test_file(posixpath.join(posixpath.dirname(path), "x.py")):
            return False
        text = self.files.text(path)
        return text is not None and _of_program(path, text)

    def _package(self, path: str) -> bool:
        """Whether it is in a package of the program that is named like a folder of tests but contains no tests."""
        if patches.is_test_file(posixpath.basename(path)) or patches.is_test_file(plain(posixpath.basename(path))):
            return False
        named = next((folder for folder in folders_above(path) if patches.is_test_file(f"{folder}/x")), None)
        if named is None:
            return False
        if named not in self._packages:
            self._packages[named] = self._holds_program(named)
        return self._packages[named]

    def _holds_program(self, folder: str) -> bool:
        if self.files.text(f"{folder}/__init__.py") is None or plain(folder) in self._above:
            return False
        inside = [path for path in self.files.below(folder) if path.endswith(".py")]
        if any(patches.is_test_file(posixpath.basename(path)) for path in inside):
            return False
        return all(_of_program(path, self.files.text(path) or "") for path in inside)


def plain(path: str) -> str:
    """The path as a lenient file system compares it: without case, and with accents and look-alike characters
    normalised.

    A path with a part that is too long for a file name is returned unchanged: normalising many accents in a row takes
    quadratic time."""
    if any(len(name) > LONGEST_NAME for name in path.split("/")):
        return path
    return unicodedata.normalize("NFKC", path).casefold()


def _of_program(path: str, text: str) -> bool:
    return not find_tests(path, text) and not _TESTS_AT_RUN_TIME.search(text)
