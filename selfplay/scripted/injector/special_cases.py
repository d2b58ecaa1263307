"""What a removal leaves out first: a case that few inputs need, with what belongs to it.

A programmer forgets a case: the branch for a rare input, a guard, the handling of an error, an operand of a condition.
Nobody forgets what a function is for; a removal that leaves that out leaves its name and its scaffolding standing
(`believable/scaffolds.py`), and every test that calls it fails.
"""

import random
from collections.abc import Callable, Sequence

from selfplay.scripted.edits.cuts import Cut
from selfplay.scripted.injector.survey import Survey, Target

SELDOM = 0.5
"""The largest share of the tests that reach a function that may run a case of it."""
RARE = 8
"""A name that occurs more often in a file does not tell that two cases belong together."""
SIZES = (2.5, 4.3)
"""Powers of two between which the wanted number of changed lines is drawn: 6 to 20."""


def special(survey: Survey, target: Target, cuts: Sequence[Cut]) -> list[Cut]:
    """The cuts of a function that leave out a case which few of its tests run, and at least one."""
    return [
        cut for cut in cuts if cut.case is not None and (cut.case == (0, 0) or _is_seldom(survey, target, cut.case))
    ]


def _is_seldom(survey: Survey, target: Target, case: tuple[int, int]) -> bool:
    return 0 < len(survey.tests_of(target.path, *case)) <= SELDOM * len(target.tests)


def together(
    cuts: Sequence[Cut], told: Callable[[Sequence[Cut]], frozenset[str]], chosen: Sequence[Cut], wanted: int,
    rng: random.Random,
) -> tuple[Cut, ...]:  # fmt: skip
    """Some of these cuts, to go with those `chosen`: of about the wanted size together. All but the first share
    a rare name with the others. `told`: the names in the lines of cuts that are rare in their file."""
    order = sorted(cuts, key=lambda cut: abs(cut.size - wanted) + rng.uniform(0, wanted))
    found = list[Cut]()
    for cut in order:
        all_chosen = [*chosen, *found]
        room = wanted - sum(one.size for one in all_chosen)
        if all_chosen and (room <= wanted // 3 or cut.size > 2 * room or not told([cut]) & told(all_chosen)):
            continue
        if not any(cut.overlaps(other) for other in all_chosen):
            found.append(cut)
    return tuple(found)
