"""Readers of diffs for `test_linear_time`, and the diffs that they are made to read."""

from collections.abc import Callable

from selfplay.errors import SelfplayError
from selfplay.patches import (
    PatchError,
    changed_lines,
    deletion,
    dialects,
    is_test_file,
    parse,
    reverse,
    touched_paths,
    units,
)
from selfplay.patches.changes import changes
from selfplay.patches.functions import find_tests, functions
from selfplay.patches.quoting import quote, unquote
from selfplay.patches.substance import changes_code

Reader = Callable[[str], object]


def section(path: str, old: list[str], new: list[str]) -> str:
    """A well-formed section that replaces these lines."""
    body = "".join([*(f"-{line}\n" for line in old), *(f"+{line}\n" for line in new)])
    head = f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"
    return f"{head}@@ -{bool(old):d},{len(old)} +{bool(new):d},{len(new)} @@\n{body}"


def replacing(text: str) -> str:
    """A diff that takes the lines of `text` away and brings nearly all of each back behind code, in a comment."""
    lines = text.split("\n")
    return section("a.py", lines, [f"a = b  # {line[:-1]}" for line in lines])


def adding(text: str) -> str:
    return section("a.py", [], text.split("\n"))


def naming(text: str) -> str:
    """A diff whose first line names `text`."""
    return f"diff --git a/{text} b/{text}\nold mode 100644\nnew mode 100755\n".replace("\n", " ", text.count("\n") * 2)


def trading(text: str) -> str:
    """A diff of as many files as `text` has atoms, each with a name of its own."""
    return "".join(section(f"{index}/{line[:40]}".strip(), ["a"], ["b"]) for index, line in enumerate(text.split("a")))


def bare(text: str) -> str:
    """Sections without `diff --git`, whose names hold the text."""
    name = text.replace("\n", " ")
    return f"--- a/{name}\n+++ b/{name}\n@@ -1 +1 @@\n-a\n+b\n"


def refusing(read: Reader, error: type[Exception] = SelfplayError) -> Reader:
    """`read`, for which this error is an answer."""

    def answer(text: str) -> object:
        try:
            return read(text)
        except error as refusal:
            return refusal

    return answer


def of_diff(make: Callable[[str], str], read: Callable[[str], object]) -> Reader:
    return refusing(lambda text: read(make(text)), PatchError)


def hunks(text: str) -> object:
    return [list(changes(hunk)) for patch in parse(text) for hunk in patch.hunks]


READERS: dict[str, Reader] = {
    "patches.parse": refusing(parse, PatchError),
    "patches.read": refusing(dialects.read, PatchError),
    "patches.read, names": of_diff(naming, dialects.read),
    "patches.read, no prefixes": of_diff(lambda text: naming(text).replace(" a/", " ", 1), dialects.read),
    "patches.read, bare headers": of_diff(bare, lambda text: dialects.read(text, lambda path: False)),
    "patches.read, outside": refusing(lambda text: dialects.read(f"{text}\n{section('a', ['a'], ['b'])}"), PatchError),
    "patches.deletion": lambda text: deletion("a", text),
    "patches.parse, names": of_diff(naming, parse),
    "patches.parse, added lines": of_diff(adding, parse),
    "patches.reverse": of_diff(replacing, reverse),
    "patches.units": of_diff(trading, units),
    "patches.units, names": of_diff(naming, units),
    "patches.touched_paths": of_diff(trading, touched_paths),
    "patches.changed_lines": of_diff(replacing, changed_lines),
    "patches.changes": of_diff(replacing, hunks),
    "patches.changes_code": of_diff(replacing, lambda text: changes_code(parse(text))),
    "patches.is_test_file": is_test_file,
    "patches.is_test_file, suffix": lambda text: is_test_file(f"{text}.py"),
    "patches.quote": quote,
    "patches.unquote": refusing(unquote, PatchError),
    "patches.unquote, quoted": refusing(lambda text: unquote(f'"{text}"'), PatchError),
    "patches.functions": lambda text: functions("a.py", text),
    "patches.find_tests": lambda text: find_tests("a.c", text),
}
