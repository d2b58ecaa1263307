"""A training run's figures for TensorBoard, beside `metrics.jsonl`. Needs the package `tensorboard`, not torch."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from selfplay.loop.metrics import Figures, number
from selfplay.policies.tokenizer import imported

FOLDER = "tensorboard"
"""The folder for TensorBoard in a run's folder."""
FILES = "events.out.tfevents.*"


def require_tensorboard() -> None:
    """Raises a `ModelError` that says how to install the package if it is missing."""
    imported("tensorboard", "tensorboard")


def flattened(figures: Figures) -> dict[str, float]:
    """Every number of a step by its place, as in `rollouts/solver/reward/mean`. A slash inside a name becomes `of`:
    groups with 3 of 4 attempts solved are `rollouts/solver/groups/3 of 4`."""
    found: dict[str, float] = {}
    for name, value in figures.items():
        plain = name.replace("/", " of ")
        if isinstance(value, Mapping):
            found |= {f"{plain}/{rest}": inner for rest, inner in flattened(value).items()}
        elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            found[plain] = float(value)
    return found


@contextmanager
def scalars(folder: Path, history: Sequence[Figures]) -> Iterator[Callable[[Figures], None]]:
    """A function that writes a step's figures. First `folder` is rewritten from `history`, since figures could be
    missing or double after a kill."""
    require_tensorboard()
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(FILES):
        old.unlink()
    writer = EventFileWriter(str(folder))

    def write(figures: Figures) -> None:
        values = [Summary.Value(tag=tag, simple_value=value) for tag, value in flattened(figures).items()]
        at = int(number(figures, "number") or 0)
        writer.add_event(Event(wall_time=time.time(), step=at, summary=Summary(value=values)))
        writer.flush()

    try:
        for figures in history:
            write(figures)
        yield write
    finally:
        writer.close()
