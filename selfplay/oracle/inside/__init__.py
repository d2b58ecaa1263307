"""Programs of the oracle that run inside sandboxes, on the system's bare Python. Read as text, never imported, but for
`shingles`, by which both sides cut text alike."""

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType


def text(name: str) -> str:
    """The source of one of these programs."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def apart(source: str, name: str, kept: Mapping[str, str] = MappingProxyType({}), file: str = "<string>") -> str:
    """A program that runs this source with built-ins of its own, which no other code can replace. `kept`: names of the
    program for what the source defines; `file`: where its code says that it stands."""
    spaced = f"{{'__builtins__': dict(vars(__import__('builtins'))), '__name__': {name!r}}}"
    if not kept:  # the main module has no name more than any program's
        return f"exec(compile({source!r}, {file!r}, 'exec'), {spaced})\n"
    given = "".join(f"{new} = space[{old!r}]\n" for new, old in kept.items())
    return f"space = {spaced}\nexec(compile({source!r}, {file!r}, 'exec'), space)\n{given}del space\n"
