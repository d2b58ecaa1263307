"""The file of an episode in JSON lines: first the episode, then its steps, then its segments.

A file named `.zst` is compressed with Zstandard; `zstdcat` and any JSON reader read it without this package. A step's
line has a `call`, a segment's has `ids`. The first line carries the format number; files without a number are from
earlier versions. Unknown fields are ignored.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import zstandard

from selfplay.agent.actions import Budget, Call, Finish
from selfplay.agent.checked import checked, texts
from selfplay.agent.model import Message, NativeCall, Sampling, Usage
from selfplay.agent.tape import Segment
from selfplay.agent.trajectory import Record, Step, Trajectory
from selfplay.agent.trajectory_lines import MOST_PACKED, fit, json_lines
from selfplay.agent.trajectory_segments import read_segment, segment_lines
from selfplay.artifact.files import write_atomically
from selfplay.artifact.reading import UntrustedDataError, opened_below, opened_named
from selfplay.errors import SelfplayError
from selfplay.formatting import cap

CUTS = (65_536, 16_384, 4_096, 1_024, 256)
"""Characters of a text in a file that would be larger than what is read."""
FORMAT = 4
"""Raised when a field changes its meaning; 1 is a file without a number, 2 has arrays as lists, in 3 each segment holds
all its ids."""
MOST_IDS = 5_000_000
"""Tokens of an episode, with those that several segments share: each takes 13 bytes of memory. 128 turns that each have
a segment of 32,768 have some four million."""


class TrajectoryError(SelfplayError):
    """A file that is not a trajectory."""


def save(trajectory: Trajectory, path: Path, rollout: Mapping[str, Any] | None = None) -> None:
    """Write the trajectory's file, atomically; compressed when the name ends with `.zst`. `rollout`: as in
    `encoded`."""
    save_encoded(encoded(trajectory, rollout, packed=path.suffix == ".zst"), path)


def save_encoded(data: bytes, path: Path) -> None:
    """Write the file of a trajectory that is encoded already, atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, data)


def encoded(trajectory: Trajectory, rollout: Mapping[str, Any] | None = None, packed: bool = True) -> bytes:
    """The trajectory as JSON lines. `rollout`: facts about its rollout for the first line. `packed`: compressed.

    An episode that says more than is read (its commands printed megabytes) is kept with its longest texts cut: it would
    otherwise teach nothing, by its own choice. Its tokens are whole."""
    segments = [_line(one) for one in segment_lines(trajectory.record.segments)]
    for most in (None, *CUTS):
        lines = [*_text_lines(trajectory, rollout, most), *segments]
        if fit(lines):
            break
    data = b"".join(line + b"\n" for line in lines)
    return zstandard.compress(data) if packed else data


def _text_lines(trajectory: Trajectory, rollout: Mapping[str, Any] | None, most: int | None) -> Iterator[bytes]:
    """The lines of the episode and of its steps, with texts of at most `most` characters."""
    bare = replace(trajectory, steps=(), record=replace(trajectory.record, segments=()))
    fields = {name: value for name, value in _plain(bare, most).items() if name != "steps"}
    fields["record"].pop("segments")
    yield _line({"format": FORMAT, **({"rollout": rollout} if rollout else {}), **fields})
    yield from (_line(_plain(step, most)) for step in trajectory.steps)


def _line(value: Any) -> bytes:
    return json.dumps(value, default=repr).encode("ascii")


def _plain(value: Any, most: int | None) -> Any:
    """Our dataclasses as JSON values. Not `dataclasses.asdict`, whose deep copies are slow: a driver stores thousands
    of episodes."""
    if isinstance(value, str):
        return value if most is None else cap(value, most)
    if hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name), most) for name in value.__dataclass_fields__}
    if isinstance(value, list | tuple):
        return [_plain(one, most) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one, most) for name, one in value.items()}
    return value


def load(path: Path, *, linked: bool = True) -> Trajectory:
    """Read a trajectory file, which is untrusted: within bounds (`trajectory_lines.py`), checking each field's
    type. `linked`: the path may be a link, as for a file that the user names. Raises `TrajectoryError`."""
    return load_with_rollout(path, linked=linked)[0]


def load_with_rollout(path: Path, *, linked: bool = True) -> tuple[Trajectory, dict[str, Any] | None]:
    """As `load`, with the rollout header of the first line, if there is one."""
    try:
        with opened_named(path, MOST_PACKED) if linked else opened_below(path.parent, path.name, MOST_PACKED) as stream:
            return _read(json_lines(stream, str(path), path.suffix == ".zst"), path)
    except UntrustedDataError as error:
        raise TrajectoryError(error.message, error.hint or HOLDS) from error
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, zstandard.ZstdError) as error:
        raise TrajectoryError(f"{path} is not a trajectory", HOLDS) from error


HOLDS = "A trajectory holds JSON lines, the first of which describes an episode."


def _read(lines: Iterator[dict[str, Any]], path: Path) -> tuple[Trajectory, dict[str, Any] | None]:
    """The trajectory and its rollout; each line is turned into its value before the next one is read."""
    head = next(lines, None)
    if head is None:
        raise ValueError("no line")
    if head.get("format", 1) > FORMAT:
        raise TrajectoryError(f"{path} was written by a later version (format {head['format']})", "Update selfplay.")
    steps: list[Step] = []
    segments: list[Segment] = []
    ids = 0
    for line in lines:
        if "ids" in line:
            segments.append(read_segment(line, segments[-1] if segments else None))
            ids += len(segments[-1].ids)
            if ids > MOST_IDS:
                raise TrajectoryError(f"{path} holds more than {MOST_IDS:,} tokens", HOLDS)
        elif "call" in line:
            steps.append(_step(line))
    record = _record(head.get("record", {}), tuple(segments))
    known = {**_known(Trajectory, head), "finish": Finish(head["finish"])}
    rollout = head.get("rollout")
    if rollout is not None and not isinstance(rollout, dict):
        raise ValueError("a rollout that is no object")
    return checked(Trajectory(**known, steps=tuple(steps), record=record)), rollout


def _known(kind: type[Any], line: dict[str, Any]) -> dict[str, Any]:
    """The fields of a line that this version knows; `steps` and `record` are read separately."""
    return {name: line[name] for name in kind.__dataclass_fields__ if name in line and name not in ("steps", "record")}


def _record(line: dict[str, Any], segments: tuple[Segment, ...]) -> Record:
    conversations = tuple(tuple(_message(one) for one in messages) for messages in line.get("conversations", ()))
    usage = Usage(**_known(Usage, line.get("usage", {})))
    thoughts, seconds = texts(line.get("thoughts")), tuple(map(float, line.get("seconds", ())))
    asked = line.get("sampling")
    sampling = None if asked is None else checked(Sampling(**_known(Sampling, asked)))
    return checked(Record(conversations, segments, line.get("drift", 0), checked(usage), thoughts, seconds, sampling))


def _message(line: dict[str, Any]) -> Message:
    calls = tuple(NativeCall(**_known(NativeCall, call)) for call in line["calls"])
    return checked(Message(**{**_known(Message, line), "calls": tuple(map(checked, calls))}))


def _step(line: dict[str, Any]) -> Step:
    left = checked(Budget(**_known(Budget, line["left"]))) if line.get("left") else None
    call = checked(Call(**_known(Call, line["call"])))
    return checked(Step(**{**_known(Step, line), "call": call, "left": left}))
