"""The oldest Python that a project says it runs on, and files of a prediction that would no longer run there: the tests
run on one, newer."""

import re
from collections.abc import Iterator, Mapping

from selfplay.oracle.originals import OriginalFiles
from selfplay.plain_text import encode
from selfplay.python_source import syntax_tree

_FILES = ("pyproject.toml", "setup.cfg", "setup.py")
_DECLARED = re.compile(
    r"""(?:requires-python|python_requires)['"]?[ \t]*+[=:][ \t]*+['"]?[ \t]*+(?:>=|~=|\^)[ \t]*+3\.(\d{1,2})"""
)
OLDEST = 7
"""Python's parser does not know what older versions lack."""


def needs_newer(before: Mapping[str, str], after: Mapping[str, str], original: OriginalFiles) -> Iterator[str]:
    """Sentences about files that such a Python could read before, and cannot read any more. All are path -> text."""
    least = _declared(original)
    for path, text in sorted(after.items()) if least is not None else ():
        if not _reads(text, least) and _reads(before[path], least) and _reads(text, None):
            yield f"{path} needs a newer Python than 3.{least}, which the project declares"


def _declared(original: OriginalFiles) -> int | None:
    """The minor version, or None if no file of the project says it."""
    texts = (original.text(name) for name in _FILES)
    found = next((said for text in texts if text and (said := _DECLARED.search(text))), None)
    return max(int(found[1]), OLDEST) if found else None


def _reads(text: str, minor: int | None) -> bool:
    """Whether Python 3 of this minor version, or ours, can read a source."""
    try:
        syntax_tree(encode(text), minor=minor)
    except (SyntaxError, ValueError):
        return False
    return True
