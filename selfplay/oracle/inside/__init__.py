"""Programs of the oracle that run inside sandboxes, on the system's bare Python. Read as text, never imported, but for
`shingles`, by which both sides cut text alike."""

from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType


def text(name: str) -> str:
    """The source of one of these programs."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def apart(source: str, name: str, kept: Mapping[str, str] = MappingProxyType({})) -> str:
    """A program that runs this source with built-ins of its own, which no other code can replace. `kept`: names of the
    program for what the source defines."""
    given = "".join(f"{new} = space[{old!r}]\n" for new, old in kept.items())
    return (
        f"import builtins\nspace = {{'__builtins__': dict(vars(builtins)), '__name__': {name!r}}}\n"
        f"exec(compile({source!r}, '<string>', 'exec'), space)\n{given}del space\n"
    )
