"""Our programs that run inside sandboxes: files, so that they are linted and tested, but sent as texts.

They run on the project's interpreter, which may be older than ours, and import nothing from this package.
"""

from pathlib import Path

from selfplay.program_texts import texts_in

text = texts_in(__name__)
"""The text of one of these programs."""


def path(name: str) -> Path:
    """The path of one of these programs, for mounting."""
    return Path(__file__).with_name(name)
