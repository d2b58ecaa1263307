"""The errors a user may see: each names what went wrong and says what to do next.

All packages subclass `SelfplayError`; the command line prints the message and the hint and exits 2. Any other exception
that escapes is a bug in our code and shows its traceback.
"""

import json
from typing import Any


def in_words(error: BaseException) -> str:
    """What an error says, without the number that the operating system has for it, and without Python's words for a
    text that cannot be read."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8 text"
    if isinstance(error, json.JSONDecodeError):
        return f"it is not JSON (line {error.lineno}, column {error.colno})"
    said = error.strerror if isinstance(error, OSError) else ""
    return said or str(error) or type(error).__name__


class SelfplayError(Exception):
    """Base of every error a user may see.

    `message` names the thing; `hint` says what to do about it (empty when the message already does).
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}\n  {self.hint}" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without calling the constructor: errors travel between processes, and constructors differ."""
        return _restored, (type(self), self.args, dict(vars(self)))


def in_a_line(error: SelfplayError) -> str:
    """Its message and its hint, where a result has one line for both."""
    said = f"{error.message}. {error.hint}" if error.hint else error.message
    return " ".join(said.split())


def _restored(kind: type[SelfplayError], args: tuple[object, ...], values: dict[str, Any]) -> SelfplayError:
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(values)
    return error
