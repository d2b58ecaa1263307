"""Programs of the oracle that run inside sandboxes, on the system's bare Python. Read as text, never imported, but for
`shingles`, by which both sides cut text alike."""

from importlib.resources import files


def text(name: str) -> str:
    """The source of one of these programs."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")


def apart(source: str, name: str, *kept: str) -> str:
    """A program that runs this source with built-ins of its own, which no other code can replace; the names in `kept`
    are then the program's, too."""
    given = "".join(f"{one} = space[{one!r}]\n" for one in kept)
    return (
        f"import builtins\nspace = {{'__builtins__': dict(vars(builtins)), '__name__': {name!r}}}\n"
        f"exec(compile({source!r}, '<string>', 'exec'), space)\n{given}del space\n"
    )
