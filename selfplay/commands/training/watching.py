"""What a training run does after each step besides training: the page on a terminal, TensorBoard, the monitors."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from selfplay.loop.config import TrainConfig
from selfplay.loop.metrics import Figures
from selfplay.loop.monitors import alarms, refuse_collapse
from selfplay.report.scalars import FOLDER, scalars
from selfplay.report.training import training_page

if TYPE_CHECKING:
    from rich.console import RenderableType


class StepWatcher(Protocol):
    """Receives the progress."""

    def say(self, line: str) -> None: ...

    def show(self, page: "RenderableType") -> None: ...


@contextmanager
def watching(
    config: TrainConfig, out: Path, history: Sequence[Figures], watcher: StepWatcher
) -> Iterator[Callable[[Sequence[Figures]], None]]:
    """A function to call after each step with all finished steps. `history`: the earlier steps.

    Raises `ModelError` if TensorBoard is wanted but not installed, and `Collapsed`, now and after each step, if a
    monitor stops the run: the same command then continues only with other limits."""
    refuse_collapse(history, config.monitors)
    with scalars(out / FOLDER, history) if config.tensorboard else nullcontext() as write:

        def stepped(steps: Sequence[Figures]) -> None:
            if write is not None:
                write(steps[-1])
            watcher.show(training_page(steps, config.monitors))
            before = {one.monitor for one in alarms(steps[:-1], config.monitors)}
            for one in refuse_collapse(steps, config.monitors):
                if one.monitor not in before:
                    watcher.say(f"warning: {one.words()}")

        yield stepped
