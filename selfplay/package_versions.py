"""Versions of packages, from texts of strangers."""

from packaging.version import InvalidVersion, Version

LONGEST_VERSION = 100
"""Characters. Python refuses to make a number of more than 4,300 digits, with an error that no reader of versions
expects."""


def version_of(text: str) -> Version | None:
    """The version that a text is; None if it is none, has blanks around it, or is longer than `LONGEST_VERSION`."""
    try:
        return Version(text) if len(text) <= LONGEST_VERSION and text == text.strip() else None
    except InvalidVersion:
        return None
