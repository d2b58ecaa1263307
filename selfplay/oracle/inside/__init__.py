"""Programs of the oracle that run inside sandboxes, on the system's bare Python. Read as text, never imported, but for
`shingles`, by which both sides cut text alike."""

from importlib.resources import files


def text(name: str) -> str:
    """The source of one of these programs."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
