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
