"""Filters drop rollouts from a batch although they have a reward. Each is a named predicate of one rollout, so that
dropped rollouts can be counted and shown.

A filter removes only the gradient: the rollout stays in its group's baseline and its bug's solve rate. Its tokens must
not count in the denominator of the loss, or they would dilute the others.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

TRUNCATED = frozenset({"out_of_context"})
TIMED_OUT = frozenset({"out_of_time"})
TURN_LIMITED = frozenset({"out_of_calls"})
"""Why an episode ended, in the words of `agent.Finish`."""


@dataclass(frozen=True)
class Sampled:
    """What filters look at. `age`: how many policy versions ago its *oldest* token was sampled. `finish`: why the
    episode ended. `ids` and `logprobs`: the sampled tokens (no prompt, no observation) and their log-probabilities in
    the engine."""

    advantage: float
    age: int = 0
    finish: str = ""
    ids: Sequence[int] = ()
    logprobs: Sequence[float] = ()


Filter = Callable[[Sampled], bool]


def zero_advantage(rollout: Sampled, tolerance: float = 1e-9) -> bool:
    """It was as good as its group: its gradient is 0, and CWM fills batches with other rollouts (as DAPO's dynamic
    sampling). `tolerance`: for rounding."""
    return abs(rollout.advantage) <= tolerance


def stale(rollout: Sampled, most: int = 8) -> bool:
    """Its oldest token is more than `most` versions old (SSR: 8). Raises `ValueError` for a negative age: such a
    rollout was sampled by a policy of another run."""
    if rollout.age < 0:
        raise ValueError(f"sampled by a policy {-rollout.age} versions ahead of the trainer's")
    return rollout.age > most


def gibberish(rollout: Sampled, vocabulary: int, rare: int = 100_000, offset: float = 2.0) -> bool:
    """It has a rare token (id above `rare`: byte-pair ids are in the order of merges) that was sampled with a
    log-probability below -log(vocabulary) - offset, less likely than a uniform draw: CWM's sign of a collapsing policy
    (arXiv 2510.02387, section 5.2). Small vocabularies need a lower `rare`.

    Raises `ValueError` unless there is a log-probability for each id.
    """
    limit = -math.log(vocabulary) - offset
    pairs = zip(rollout.ids, rollout.logprobs, strict=True)
    return any(token > rare and logprob < limit for token, logprob in pairs)


def truncated(rollout: Sampled) -> bool:
    """The model's context ended it, so its reward says little (DAPO's overlong filtering)."""
    return rollout.finish in TRUNCATED


def timed_out(rollout: Sampled) -> bool:
    """The clock ended it: this happens more often on a slower machine, which is not the policy's fault."""
    return rollout.finish in TIMED_OUT


def turn_limited(rollout: Sampled) -> bool:
    """It had used up its calls."""
    return rollout.finish in TURN_LIMITED


FILTERS: Mapping[str, Filter] = {
    "zero-advantage": zero_advantage,
    "stale": stale,
    "truncated": truncated,
    "timed-out": timed_out,
    "turn-limited": turn_limited,
}
"""The filters that need no facts about the model, by name. `gibberish` needs its vocabulary size
(`functools.partial`)."""


def taken_by(rollout: Sampled, filters: Mapping[str, Filter]) -> str | None:
    """The name of the first filter that drops it; None for a rollout that is trained on."""
    return next((name for name, takes in filters.items() if takes(rollout)), None)
