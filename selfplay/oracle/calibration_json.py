"""Converts parts of a stored calibration to JSON and back. Each reader takes exactly what its writer returns, and
raises `AnswerError`, `TypeError` or another `ValueError` for anything else."""

import base64
from collections.abc import Mapping
from typing import Any

from selfplay.oracle.behaviour.call_runner import Calls
from selfplay.oracle.behaviour.events import Event
from selfplay.oracle.behaviour.stored_behaviour import Guards, Outcomes
from selfplay.untrusted_json import shaped
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
        "helpers": dict(known.helpers),
    }  # fmt: skip


def calls_of(value: Any) -> Calls:
    found: Calls = shaped(Calls, value)
    return found


def plain_outcomes(outcomes: Outcomes) -> dict[str, dict[str, str]]:
    return {probe: dict(places) for probe, places in outcomes.items()}


def outcomes_of(value: Any) -> Outcomes:
    found: Outcomes = shaped(dict[str, dict[str, str]], value)
    return found


def guards(known: Guards) -> dict[str, Any]:
    return {
        "calls": calls(known.calls), "right": plain_outcomes(known.right), "unusual": sorted(known.unusual),
        "partly": sorted(known.partly),
    }  # fmt: skip


def guards_of(value: Any) -> Guards:
    unusual, partly = (frozenset(texts(value[name])) for name in ("unusual", "partly"))
    return Guards(calls_of(value["calls"]), outcomes_of(value["right"]), unusual, partly)


def text(value: Any) -> str:
    return str(shaped(str, value))


def texts(value: Any) -> tuple[str, ...]:
    return tuple(shaped(tuple[str, ...], value))


def count(value: Any) -> int:
    return int(shaped(int, value))


def counts(value: Any) -> tuple[int, ...]:
    return tuple(shaped(tuple[int, ...], value))


def pair(value: Any) -> tuple[int, int]:
    first, second = shaped(tuple[int, int], value)
    return first, second


def event_of(value: Any) -> Event:
    kind, place, detail = shaped(Event, value)
    return kind, place, detail


def flag(value: Any) -> bool:
    return bool(shaped(bool, value))
