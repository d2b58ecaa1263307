"""Programs in an export: they run where the dataset is used, without this package."""

from functools import cache
from importlib.resources import files


@cache
def text(name: str) -> str:
    """The text of one of these programs."""
    return files(__name__).joinpath(name).read_text("utf-8")
