"""The answers on an episode's tape with their messages, and whether a given model sampled the tape."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from selfplay.agent.call_format import MOST_SAID
from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.model import Message
from selfplay.agent.tape import SampledSpan, Segment
from selfplay.agent.trajectory import Trajectory
from selfplay.agent.trajectory_file import TrajectoryError
from selfplay.errors import SelfplayError
from selfplay.formatting import count

TRAIN_ITS_OWN = "Train the model that played it."


class TokenizerMismatch(SelfplayError):
    """A tape of another tokenizer or chat template."""


@dataclass(frozen=True)
class TapedAnswer:
    """One answer of the model: the ids from `start` to before `end` of a segment, and their `message`. `malformed`: it
    had no valid call."""

    segment: int
    start: int
    end: int
    versions: tuple[int, int]
    malformed: bool
    message: Message

    @property
    def tokens(self) -> int:
        """How many were sampled."""
        return self.end - self.start


def taped_answers(trajectory: Trajectory, name: str) -> list[TapedAnswer]:
    """The answers in order. Raises `TrajectoryError` if the tape does not match its conversations answer by answer, or
    cannot come from an episode."""
    segments = trajectory.record.segments
    spans = [(number, span) for number, segment in enumerate(segments) for span in _stretches(segment)]
    answers = [m for conversation in trajectory.record.conversations for m in conversation if m.role == "assistant"]
    if len(spans) != len(answers) or not spans:
        raise TrajectoryError(
            f"{name}: {count(len(spans), 'sampled part')} on the tape, {count(len(answers), 'answer')}"
        )
    if any(one.start == 0 for _, one in spans):
        raise TrajectoryError(f"{name}: it begins with an answer instead of a prompt")
    sampled = sum(segment.mask.count(1) for segment in segments)
    if sampled != sum(segments[number].mask[one.start : one.end].count(1) for number, one in spans):
        raise TrajectoryError(f"{name}: its mask marks tokens outside its answers")
    return [
        TapedAnswer(number, one.start, one.end, one.versions, one.malformed or answer.malformed, answer)
        for (number, one), answer in zip(spans, answers, strict=True)
    ]


def check_own(
    trajectory: Trajectory, answers: Sequence[TapedAnswer], chat: ChatFormat, name: str, hint: str = TRAIN_ITS_OWN
) -> None:
    """Raises `TokenizerMismatch` unless the tape begins with this model's chat template and this tokenizer decodes its
    answers."""
    told: list[Message] = []
    for message in trajectory.record.conversations[0]:
        if message.role == "assistant":
            break
        told.append(message)
    begun = chat.opening(told)
    if list(trajectory.record.segments[0].ids[: len(begun)]) != begun:
        raise _foreign(name, "its beginning differs", hint)
    for one in answers:
        ids = trajectory.record.segments[one.segment].ids[one.start : one.end]
        whole = not one.malformed and not one.message.calls and len(one.message.content) < MOST_SAID
        if whole and one.message.content.strip() not in chat.tokenizer.decode(ids):
            raise _foreign(name, "an answer decodes differently", hint)


def _foreign(name: str, how: str, hint: str) -> TokenizerMismatch:
    return TokenizerMismatch(f"{name} was taped with another tokenizer or chat template than this model's: {how}", hint)


def _stretches(segment: Segment) -> Iterator[SampledSpan]:
    """The sampled parts; in files before format 3, each run of sampled ids."""
    if segment.stretches:
        yield from segment.stretches
        return
    at = 0
    for sampled, part in groupby(segment.mask):
        length = len(list(part))
        if sampled:
            yield SampledSpan(at, at + length, segment.versions, segment.finish)
        at += length
