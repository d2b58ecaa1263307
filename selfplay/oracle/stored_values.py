"""Parts of a stored calibration as JSON, and read back: each reader takes exactly what its writer gives, and raises
`TypeError` or `ValueError` for anything else."""

import base64
from collections.abc import Mapping
from typing import Any

from selfplay.answers import shaped
from selfplay.oracle.behaviour import Outcomes
from selfplay.oracle.calling import Calls
from selfplay.oracle.events import Event
from selfplay.workbench.files import TestFile


def blob(data: bytes) -> str:
    return base64.b64encode(data).decode()


def blobs(blobs: Mapping[str, bytes]) -> dict[str, str]:
    return {path: blob(data) for path, data in blobs.items()}


def files(files: Mapping[str, TestFile]) -> dict[str, list[Any]]:
    return {path: [blob(file.content), file.executable, file.mtime] for path, file in files.items()}


def blobs_of(value: Any) -> dict[str, bytes]:
    return {path: base64.b64decode(text(data), validate=True) for path, data in value.items()}


def files_of(value: Any) -> dict[str, TestFile]:
    return {
        path: TestFile(base64.b64decode(text(content), validate=True), flag(executable), count(mtime))
        for path, (content, executable, mtime) in value.items()
    }


def calls(known: Calls) -> dict[str, Any]:
    return {
        "python": known.python, "paths": [*known.paths], "modules": dict(known.modules), "sources": dict(known.sources),
    }  # fmt: skip


def calls_of(value: Any) -> Calls:
    """Raises `AnswerError`, a `ValueError`, for anything that is no calls."""
    found: Calls = shaped(Calls, value)
    return found


def plain_outcomes(outcomes: Outcomes) -> dict[str, dict[str, str]]:
    return {probe: dict(places) for probe, places in outcomes.items()}


def outcomes_of(value: Any) -> Outcomes:
    return {text(probe): {text(place): text(said) for place, said in places.items()} for probe, places in value.items()}


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return tuple(text(one) for one in value)


def count(value: Any) -> int:
    if type(value) is not int:
        raise TypeError(f"{value!r} is not a whole number")
    return value


def counts(value: Any) -> tuple[int, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is not a list")
    return tuple(count(one) for one in value)


def event_of(value: Any) -> Event:
    kind, place, detail = texts(value)
    return kind, place, detail


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value
