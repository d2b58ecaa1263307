"""Monitors of collapse: the figures of a run's steps -> warnings, each of which may stop the run. Pure.

    entropy     the policy's entropy fell below a share of that of the first steps
    diversity   share of new bugs that are unlike the others of their step
    invalid     share of injections whose artifact is not valid
    uniform     share of solver groups in which all attempts or none solve the bug: they teach nothing
    gibberish   share of episodes that the gibberish filter dropped
    length      mean tokens per episode changed by more than this factor since the first steps
    parity      how far the log-probabilities of engine and trainer are apart where both had the same weights

The paper (arXiv 2512.18552) saw two of these go wrong in long runs: gibberish and similar bugs. A monitor compares the
mean of the last `window` steps that have its figure, and is silent with fewer; parity is judged at every step, hence
also at the first one and at the first after a resume.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Annotated, Any

from pydantic import Field, model_validator

from selfplay.loop.config_base import ConfigSection, PositiveInt
from selfplay.loop.errors import TrainingError
from selfplay.loop.metrics import Figures
from selfplay.loop.monitored import MONITORS, Kind


class Watch(ConfigSection):
    """`limit`: the value from which it warns; None: never. `stop`: whether it also stops the run."""

    limit: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None
    stop: bool = False


def _by_default(name: str) -> Watch:
    return Watch(limit=MONITORS[name].limit, stop=MONITORS[name].stop)


class Monitors(ConfigSection):
    """Each monitor's limit, and the steps over which it takes the mean."""

    window: PositiveInt = 5
    entropy: Watch = _by_default("entropy")
    diversity: Watch = _by_default("diversity")
    invalid: Watch = _by_default("invalid")
    uniform: Watch = _by_default("uniform")
    gibberish: Watch = _by_default("gibberish")
    length: Watch = _by_default("length")
    parity: Watch = _by_default("parity")

    @model_validator(mode="before")
    @classmethod
    def _with_limits(cls, given: Any) -> Any:
        """A monitor keeps the default of what it does not set."""
        if not isinstance(given, Mapping):
            return given
        return {
            name: {**_by_default(name).model_dump(), **value}
            if name in MONITORS and isinstance(value, Mapping)
            else value
            for name, value in given.items()
        }

    @model_validator(mode="after")
    def _possible(self) -> "Monitors":
        for name, monitor in MONITORS.items():
            limit, is_factor = self.of(name).limit, monitor.kind == "changed"
            if limit is not None and (limit <= 1) == is_factor:
                raise ValueError(f"{name}.limit is a {'factor above 1' if is_factor else 'share of at most 1'}")
        return self

    def of(self, name: str) -> Watch:
        """The monitor of this name."""
        found: Watch = getattr(self, name)
        return found


@dataclass(frozen=True)
class Alarm:
    """A monitor that is beyond its limit. `value` is what it compares with the limit."""

    monitor: str
    value: float
    limit: float
    stop: bool

    def words(self) -> str:
        known = MONITORS[self.monitor]
        return f"{self.monitor}: {known.said.format(value=self.value, limit=self.limit)}. {known.advice}"


class Collapsed(TrainingError):
    """A monitor stopped the run."""


def alarms(history: Sequence[Figures], monitors: Monitors) -> list[Alarm]:
    """The monitors beyond their limits after the last step."""
    found = []
    for name, monitor in MONITORS.items():
        watch, values = monitors.of(name), [value for one in history if (value := monitor.measure(one)) is not None]
        value = _compared(monitor.kind, values, monitors.window)
        if watch.limit is not None and value is not None and _beyond(monitor.kind, value, watch.limit):
            found.append(Alarm(name, value, watch.limit, watch.stop))
    return found


def refuse_collapse(history: Sequence[Figures], monitors: Monitors) -> list[Alarm]:
    """The alarms that only warn. Raises `Collapsed` if one of them stops the run."""
    found = alarms(history, monitors)
    for one in found:
        if one.stop:
            raise Collapsed(
                f"a monitor stopped the run: {one.words()}",
                f"What was learned is kept. To continue anyway: monitors.{one.monitor}.stop=false, or another limit.",
            )
    return found


def _compared(kind: Kind, values: Sequence[float], window: int) -> float | None:
    """The value to compare with the limit: the last step's, the last steps' mean, or its ratio to the first steps'."""
    if kind == "at once":
        return values[-1] if values else None
    if len(values) < window:
        return None
    last = fmean(values[-window:])
    if kind in ("below", "above"):
        return last
    first = fmean(values[:window])
    return last / first if len(values) >= 2 * window and first > 0 else None


def _beyond(kind: Kind, value: float, limit: float) -> bool:
    if kind == "changed":
        return value > limit or value < 1 / limit
    return value > limit if kind in ("above", "at once") else value < limit
