"""Episodes of both roles with tapes, written by hand: no sandbox, no model. Each call of `taped` is one episode."""

from array import array
from collections.abc import Sequence
from typing import Any

from selfplay.agent.model import Message
from selfplay.agent.tape import Segment
from selfplay.agent.taped import TapedAnswer
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
