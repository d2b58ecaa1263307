"""The texts of our programs that run elsewhere, in a sandbox or beside a dataset, without this package."""

from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files


def texts_in(package: str) -> Callable[[str], str]:
    """What gives the text of a program in this package by its file name."""
    return partial(_text, package)


@cache
def _text(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")
