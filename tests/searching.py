"""The search inside the sandbox, for tests that need no sandbox: its program without the walk."""

import json
from types import SimpleNamespace
from typing import Any

from selfplay.oracle import inside
from selfplay.oracle.leak_audit.audit import INSTALLED_SHARE, PROGRAM, SHARE
from selfplay.oracle.leak_audit.needles import Needles


def program() -> Any:
    """The names that the program defines."""
    names: dict[str, Any] = {}
    exec(compile("".join(inside.text(name) for name in PROGRAM if name != "walk.py"), "search", "exec"), names)
    return SimpleNamespace(**names)


SEARCH = program()


def search(wanted: Needles, seconds: float = 60.0, size: int = 1 << 30) -> Any:
    """A search for these needles, with a budget of its own."""
    given = {**json.loads(json.dumps(wanted.to_json())), "least": [SHARE, INSTALLED_SHARE], "copies": []}
    return SEARCH.Search(given, ("/installed/",), SEARCH.Bounds(seconds, size))
