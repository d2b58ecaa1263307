"""Reads the `package.json` of a stranger's tree."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from selfplay.plain_text import regular_file
from selfplay.untrusted_json import AnswerError, json_value

MOST_BYTES = 1 << 20


def read_package(tree: Path) -> Mapping[str, Any]:
    """The object in it; empty where there is none that can be read."""
    path = regular_file(tree, "package.json")
    if path is None:
        return {}
    with path.open("rb") as stream:
        data = stream.read(MOST_BYTES)
    try:
        value = json_value(data.removeprefix(b"\xef\xbb\xbf"))
    except AnswerError:
        return {}
    return value if isinstance(value, dict) else {}
