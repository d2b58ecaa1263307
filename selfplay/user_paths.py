"""Paths as a user writes them. `~nobody` names the home of a user that may not exist, and a process may have no home at
all, for which Python has no answer but an error of its own."""

import os
from pathlib import Path

from selfplay.errors import SelfplayError

HINT = "Write the folder's whole path, or ./~... for a name that begins so."


def expanded(text: str, refusal: type[SelfplayError]) -> Path:
    """The path that the user wrote, `~` replaced by a home. Raises `refusal` if there is no such home."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise refusal(f"{text[:200]!r}: no home of a user is known by that name", HINT) from error


def home() -> Path | None:
    """The user's home; None where the process has none, such as in a container for any user."""
    found = os.path.expanduser("~")  # noqa: PTH111 - unlike pathlib, it does not raise
    return None if found.startswith("~") else Path(found)
