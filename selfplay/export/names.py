"""The names for other tools: of a bug, of its image, and of its tests.

The grader of swebench reads one line per test and cuts it into words (`parse_log_pytest_v2`): ids with other spaces
than single ones, with ` - `, with control characters or with a bracket that is not closed would be read as other ids;
R2E's takes any line with PASSED in it for passed. Such an id is percent-encoded, in the dataset and in what the
evaluation prints, so that both agree.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote

from selfplay.artifact import Bug

OWNER = "selfplay"
MOST_TAG = 128
"""Characters of an image's tag."""
_COLOUR = re.compile(r"\[\d+m")
_ENCODED = re.compile(r"%[0-9A-Fa-f]{2}")
_STATUS = ("PASSED", "FAILED", "SKIPPED", "ERROR", "XFAIL")


def instance_id(bug_id: str) -> str:
    """The name of a bug in a dataset: lower-case, with `__` between owner and name."""
    return f"{OWNER}__{bug_id}"


def bug_id_of(instance: str) -> str:
    """The name of the bug behind `instance_id`."""
    return instance.removeprefix(f"{OWNER}__")


def image_name(name: str) -> str:
    """The local image of a bug's broken repository; nothing is pulled under this name."""
    return f"{OWNER}/bugs:{name[-MOST_TAG:].lstrip('.-')}"


def repository_name(bug: Bug) -> str:
    """`owner/name` of a bug's repository, as far as its source says so."""
    folder, slash, last = bug.source.split("==")[0].rstrip("/").rpartition("/")
    plain = f"{folder}{slash}{last.partition('@')[0]}".removesuffix(".git")
    parts = [part for part in re.split(r"[/:@]", plain) if part]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", parts[-1]) if parts else "source"
    hosted = "://" in bug.source and len(parts) > 3
    owner = re.sub(r"[^A-Za-z0-9._-]+", "-", parts[-2]) if hosted else _kind(bug.source)
    return f"{owner}/{name}"


def project_name(bug: Bug) -> str:
    """The name that all versions of a project share, from a package index, a git server or a folder."""
    return re.sub(r"[-_.]+", "-", repository_name(bug).partition("/")[2]).lower()


def _kind(source: str) -> str:
    found = re.match(r"(pypi|image):", source)
    return found[1] if found else OWNER


def plain_test(test: str) -> bool:
    """Whether a line `PASSED <id>` is read back as this id."""
    return (
        test == " ".join(test.split())
        and test.isprintable()
        and " - " not in test
        and not _COLOUR.search(test)
        and not _ENCODED.search(test)
        and test.count("[") <= test.count("]")
        and not any(word in test for word in _STATUS)
    )


@lru_cache(maxsize=200_000)  # bugs of one repository share their tests
def test_name(test: str) -> str:
    """The id of a test as the dataset writes it; different for different tests."""
    if plain_test(test):
        return test
    name = quote(test, safe="/:.,;=+*!?()<>{}|^~@#$&'\"", errors="surrogateescape")
    for word in _STATUS:
        name = name.replace(word, f"{word[:-1]}%{ord(word[-1]):02X}")
    return name


test_name.__test__ = False  # type: ignore[attr-defined]  # pytest must not collect it as a test


def test_names(tests: Iterable[str]) -> list[str]:
    """The ids as the dataset writes them."""
    return [test_name(test) for test in tests]


test_names.__test__ = False  # type: ignore[attr-defined]


def other_names(tests: tuple[str, ...]) -> dict[str, str]:
    """Test -> name, for the tests whose name differs."""
    return {test: name for test in tests if (name := test_name(test)) != test}
