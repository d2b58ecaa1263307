"""Decides which files belong to the tests, by their path alone and for any language.

Deliberately generous: files that support tests (fixtures, snapshots, runner configuration) count as tests, because a
bug planted there breaks the specification instead of the program. A project that ships a package called `testing` loses
that package as a target, which costs little.
"""

import re
from pathlib import PurePosixPath

_FOLDER = re.compile(
    r"tests?|testing|specs?|__(?:tests|mocks|snapshots|fixtures)__|test[-_]?(?:data|suites?)|e2e|cypress"
    r"|(?:.+[._-])?(?:unit|functional|integration|android|e2e)?[-_]?tests?",
    re.IGNORECASE,
)
_RUNNER_CONFIG = re.compile(
    r"conftest\.py|pytest\.ini|tox\.ini|noxfile\.py|\.coveragerc|\.rspec|phpunit\.xml(?:\.dist)?|karma\.conf\.js"
    r"|\.(?:mocha|nyc)rc(?:\.\w+)?|CTestTestfile\.cmake|(?:jest|vitest|playwright|cypress|ava|wdio)\.\w+\.\w+"
)
_LOWER_STEM = re.compile(r"tests?|specs?|unittests?|tests?[._-].+|.+[._-](?:tests?|specs?|unittests?)", re.IGNORECASE)
_SPEC_STEM = re.compile(r"specs?|.+[._-]specs?", re.IGNORECASE)
_CAMEL_STEM = re.compile(r"Tests?[A-Z0-9].*|.*[a-z0-9](?:Tests?|TestCase|TestSuite|Specs?|IT)")
_DOCUMENTS = frozenset(["", ".md", ".rst", ".txt"])
_TEST_SUFFIXES = frozenset([".t", ".bats", ".feature", ".snap"])


def is_test_file(path: str) -> bool:
    """True when the relative POSIX `path` is a test, supports tests, or configures how they run."""
    pure = PurePosixPath(path)
    python = pure.suffix in (".py", ".pyi")
    if any(_FOLDER.fullmatch(part) and not (python and _SPEC_STEM.fullmatch(part)) for part in pure.parts[:-1]):
        return True
    if _RUNNER_CONFIG.fullmatch(pure.name) or pure.suffix in _TEST_SUFFIXES:
        return True
    if pure.suffix in _DOCUMENTS:  # a document about tests, or a program named `test`, is not a test
        return False
    if python and _SPEC_STEM.fullmatch(pure.stem):  # Python runners do not collect `spec`
        return False
    return bool(_LOWER_STEM.fullmatch(pure.stem) or _CAMEL_STEM.fullmatch(pure.stem))
