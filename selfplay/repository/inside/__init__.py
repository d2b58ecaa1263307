"""Our programs that run inside sandboxes: files, so that they are linted and tested, but sent as texts.

They run on the project's interpreter, which may be older than ours, and import nothing from this package.
"""

from pathlib import Path


def text(name: str) -> str:
    """The source of one of these programs."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def path(name: str) -> Path:
    """The path of one of these programs, for mounting."""
    return Path(__file__).with_name(name)
