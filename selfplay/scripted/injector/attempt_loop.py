"""An episode of the scripted injector as tries: bugs are planted one after the other until one is submitted."""

from collections import Counter
from collections.abc import Callable

from selfplay.scripted.policy import Script, Stuck

TRIES = 8
"""How many bugs are planted before an episode gives up."""
NOTHING = "nothing is left to change"
NOT_ALONE = "no test sees one of the changes alone"
TOO_FEW = "too few tests fail"
TOO_MANY = "too many tests fail"
NOT_HIDDEN = "the failing tests cannot be hidden"
EXHAUSTED = f"none of {TRIES} tries made a bug: {NOTHING}"
"""The beginning of the reason of an episode whose tries mostly found nothing to change."""


def same_end(reason: str) -> str:
    """What is equal for two episodes that ended alike: an episode that ran out of changes counts as that, whatever
    became of the few that it tried."""
    return EXHAUSTED if reason.startswith(EXHAUSTED) else reason


def until_submitted(attempt: Callable[[], Script[str]]) -> Script[None]:
    """Try until a bug is submitted. `attempt` returns why it submitted none, and then leaves the repository as it was;
    else an empty text. Raises `Stuck` with the reasons when no try submitted a bug."""
    reasons: Counter[str] = Counter()
    for _ in range(TRIES):
        reason = yield from attempt()
        if not reason:
            return
        reasons[reason] += 1
    told = ", ".join(f"{reason} ({count})" for reason, count in reasons.most_common())
    raise Stuck(f"none of {TRIES} tries made a bug: {told}")
