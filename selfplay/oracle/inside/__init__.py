"""Programs of the oracle that run inside sandboxes, on the system's bare Python. They are read as text, not imported,
except `shingles`, which both sides use to cut text in the same way."""

from collections.abc import Mapping
from types import MappingProxyType

from selfplay.program_texts import texts_in

text = texts_in(__name__)
"""The text of one of these programs."""


def apart(source: str, name: str, kept: Mapping[str, str] = MappingProxyType({}), file: str = "<string>") -> str:
    """A program that runs this source with its own copy of the built-ins, so that other code cannot replace them.
    `kept`: name in the program -> name that the source defines; `file`: the file name that its code reports."""
    spaced = f"{{'__builtins__': dict(vars(__import__('builtins'))), '__name__': {name!r}}}"
    if not kept:  # the main module then has only the names that any program has
        return f"exec(compile({source!r}, {file!r}, 'exec'), {spaced})\n"
    given = "".join(f"{new} = selfplay_space[{old!r}]\n" for new, old in kept.items())
    run = f"exec(compile({source!r}, {file!r}, 'exec'), selfplay_space)"
    return f"selfplay_space = {spaced}\n{run}\n{given}del selfplay_space\n"
