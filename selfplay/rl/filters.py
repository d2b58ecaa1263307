"""Filters: what takes a rollout out of a batch although it has a reward. Each is a question about one rollout; a name
goes with each, so that whoever is missing in a batch can be counted and shown.

A filter takes the gradient and nothing else: the rollout stays in its group's baseline and in its bug's solve rate. Its
tokens must not be counted in the denominator of the loss either, or they dilute the others.
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
    episode ended. `ids` and `logprobs`: the sampled tokens (no prompt, no observation) and what the engine gave them,
    as plain numbers."""

    advantage: float
    age: int = 0
    finish: str = ""
    ids: Sequence[int] = ()
    logprobs: Sequence[float] = ()


Filter = Callable[[Sampled], bool]


def zero_advantage(rollout: Sampled, tolerance: float = 1e-9) -> bool:
    """It was as good as its group: its gradient is 0, and CWM skips it to fill batches with others (DAPO's dynamic
    sampling too). `tolerance`: what rounding leaves of a zero."""
    return abs(rollout.advantage) <= tolerance


def stale(rollout: Sampled, most: int = 8) -> bool:
    """Its oldest token is more than `most` versions old (SSR: 8). Raises `ValueError` for a negative age: such a
    rollout was sampled by a policy of another run."""
    if rollout.age < 0:
        raise ValueError(f"sampled by a policy {-rollout.age} versions ahead of the trainer's")
    return rollout.age > most


def gibberish(rollout: Sampled, vocabulary: int, rare: int = 100_000, offset: float = 2.0) -> bool:
    """It holds a token that is rare (id above `rare`: byte-pair ids are in the order of merges) and was sampled with a
    log-probability below -log(vocabulary) - offset, less than a uniform draw has: CWM's sign of a policy that comes
    apart (arXiv 2510.02387, section 5.2). A vocabulary of fewer ids than `rare` needs a lower one.

    Raises `ValueError` for another number of log-probabilities than ids.
    """
    limit = -math.log(vocabulary) - offset
    pairs = zip(rollout.ids, rollout.logprobs, strict=True)
    return any(token > rare and logprob < limit for token, logprob in pairs)


def truncated(rollout: Sampled) -> bool:
    """The model's context ended it, so its reward says little of it (DAPO's overlong filtering)."""
    return rollout.finish in TRUNCATED


def timed_out(rollout: Sampled) -> bool:
    """The clock ended it: on a slower machine it fails more often, which is not the policy's doing."""
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
"""Those that need nothing of the model, by name. `gibberish` needs the size of its vocabulary (`functools.partial`)."""


def taken_by(rollout: Sampled, filters: Mapping[str, Filter]) -> str | None:
    """The name of the first filter that takes it; None for a rollout that is trained on."""
    return next((name for name, takes in filters.items() if takes(rollout)), None)
