"""The tokens of an episode as the engine read and sampled them. Training reads them; they are never rendered again.

An episode is usually one segment. A new segment begins when a new conversation starts (the staged injector), or when
the engine was given other ids than the tape holds (drift, which is counted).
"""

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from selfplay.agent.model import Sample


@dataclass(frozen=True)
class SampledSpan:
    """One answer: the sampled ids from `start` to before `end`, and the first and last weight version that sampled.

    `finish`: how it ended (`stop`, `length`); `malformed`: it had no valid call.
    """

    start: int
    end: int
    versions: tuple[int, int]
    finish: str
    malformed: bool = False


@dataclass(frozen=True)
class Segment:
    """Consecutive ids. `mask`: 1 where the id was sampled; `logprobs`: 0 where it was not.

    `versions`: first and last weight version that sampled. `finish`: how the last answer ended. `role`: the role that
    sampled. `stretches`: the sampled parts in order; empty in files before format 3.
    """

    ids: "array[int]"
    mask: "array[int]"
    logprobs: "array[float]"
    versions: tuple[int, int]
    role: str
    finish: str
    stretches: tuple[SampledSpan, ...] = ()


@dataclass
class Tape:
    """A recording in progress. `drift`: ids on it that a later prompt did not repeat unchanged."""

    role: str
    drift: int = 0
    ids: "array[int]" = field(default_factory=lambda: array("i"))
    _stretches: list[SampledSpan] = field(default_factory=list)
    _logprobs: "array[float]" = field(default_factory=lambda: array("d"))
    _done: list[Segment] = field(default_factory=list)

    def add(self, ids: Iterable[int]) -> None:
        """Add ids that were given, not sampled."""
        self.ids += array("i", ids)

    def sampled(self, sample: Sample) -> None:
        """Add an answer. Prompt ids beyond this tape are added to it; tape ids missing from the prompt are drift."""
        same = _common(self.ids, sample.prompt)
        if same < len(self.ids):
            self.drift += len(self.ids) - same
            self._close()
        self.add(sample.prompt[len(self.ids) :])
        first, last = sample.versions
        span = (len(self.ids), len(self.ids) + len(sample.ids))
        self._stretches.append(SampledSpan(*span, (first, last), "length" if sample.length else "stop"))
        self.add(sample.ids)
        as_stored = array("f", sample.logprobs)  # what is kept in memory equals what is read from a file
        self._logprobs += array("d", as_stored)

    def mark_malformed(self) -> None:
        """Mark the last answer as malformed; does nothing if the engine gave no ids."""
        if self._stretches:
            self._stretches[-1] = replace(self._stretches[-1], malformed=True)

    def segments(self) -> tuple[Segment, ...]:
        """The segments recorded so far; a segment without sampled ids is left out."""
        return (*self._done, *([self._segment()] if self._logprobs else []))

    def _segment(self) -> Segment:
        """The ids with their mask and log-probabilities, which are expanded here once instead of at every turn."""
        mask, logprobs = array("b", bytes(len(self.ids))), array("d", [0.0]) * len(self.ids)
        at = 0
        for one in self._stretches:
            mask[one.start : one.end] = array("b", b"\1" * (one.end - one.start))
            logprobs[one.start : one.end] = self._logprobs[at : at + one.end - one.start]
            at += one.end - one.start
        seen = [version for one in self._stretches for version in one.versions]
        finish = self._stretches[-1].finish
        return Segment(self.ids, mask, logprobs, (min(seen), max(seen)), self.role, finish, tuple(self._stretches))

    def _close(self) -> None:
        if self._logprobs:
            self._done.append(self._segment())
        self.ids, self._stretches, self._logprobs = array("i"), [], array("d")


def _common(one: "array[int]", other: Sequence[int]) -> int:
    """The length of the common prefix, in ids."""
    most = min(len(one), len(other))
    if one is other or one[:most] == array("i", other[:most]):
        return most
    return next(at for at in range(most) if one[at] != other[at])
