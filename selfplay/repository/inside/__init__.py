"""Programs of ours that run inside sandboxes, kept as files so that they are linted and tested, sent as texts.

They run on the project's interpreter, which may be older than ours, and import nothing of this package.
"""

from pathlib import Path


def text(name: str) -> str:
    """The source of one of these programs."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def path(name: str) -> Path:
    """Where one of these programs lies, to be mounted."""
    return Path(__file__).with_name(name)
