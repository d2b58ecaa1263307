"""Episodes of both roles with tapes, written by hand: no sandbox, no model. Each call of `taped` is one episode."""

from array import array
from collections.abc import Sequence
from typing import Any

from selfplay.agent.actions import Finish
from selfplay.agent.model import Message, Sample, Usage
from selfplay.agent.tape import Segment, Tape
from selfplay.agent.taped_answers import TapedAnswer
from selfplay.agent.trajectory import Record, Trajectory
from selfplay.rl.credit.rules import CreditedEpisode
from selfplay.update.batch.played import Played

PROMPT = 3
"""Ids before the first answer; between two answers there are two ids of an observation."""


def taped(
    episode: CreditedEpisode,
    ids: Sequence[int],
    answers: Sequence[int],
    logprobs: Sequence[float] = (),
    malformed: Sequence[int] = (),
    version: int = 0,
    finish: str = "submitted",
) -> Played:
    """One segment of `ids` with answers of these lengths; `logprobs`: the engine's, by id; `malformed`: numbers of
    answers."""
    mask, found, at = array("b", bytes(len(ids))), [], PROMPT
    for number, length in enumerate(answers):
        mask[at : at + length] = array("b", b"\1" * length)
        bad = number in malformed
        told = Message("assistant", "", malformed=bad)
        found.append(TapedAnswer(0, at, at + length, (version, version), bad, told))
        at += length + 2
    given = array("d", logprobs or [0.0] * len(ids))
    segment = Segment(array("i", ids), mask, given, (version, version), episode.role, "stop")
    tokens = sum(answers)
    counted = CreditedEpisode(**{**vars(episode), "tokens": tokens, "prompt": episode.prompt or episode.group})
    return Played(counted, (segment,), tuple(found), finish)


def injector(name: str, outcome: Any = "invalid", bug: str = "", group: str = "shop/removal/a.py") -> CreditedEpisode:
    return CreditedEpisode("injector", group, outcome, bug, name=name)


def attempt(name: str, outcome: Any = "failed", bug: str = "b1") -> CreditedEpisode:
    return CreditedEpisode("solver", bug, outcome, bug, name=name)


def taped_trajectory(role: str = "injector") -> Trajectory:
    """An episode of two answers, taped as a conversation tapes it. 0.1 is no float32."""
    tape = Tape(role)
    tape.add([5, 6, 7])
    tape.sampled(Sample((8, 9), (-0.1, -2.3), False, (5, 6, 7), (0, 0)))
    tape.sampled(Sample((12,), (-0.7,), False, (5, 6, 7, 8, 9, 10, 11), (0, 1)))
    told = (Message("system", "repair"), Message("assistant", "one"), Message("user", "two"), Message("assistant", "3"))
    record = Record((told,), tape.segments(), usage=Usage(completion_tokens=3))
    return Trajectory(role, "m", Finish.SUBMITTED, record=record)
