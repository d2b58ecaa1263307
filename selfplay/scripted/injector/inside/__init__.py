"""What the injector runs inside the sandbox, on the repository's own interpreter. Read as text, never imported."""

from importlib.resources import files


def text(name: str) -> str:
    """The source of one of these programs."""
    return files(__name__).joinpath(name).read_text(encoding="utf-8")
