"""Why a prediction or an attempt is not resolved: each reason in words, and who is to blame for it."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from selfplay.formatting import spaced

Blame = Literal["cheat", "wrong", "person", "machine"]
"""`cheat`: the patch was caught cheating; `wrong`: it is no repair, or there is none; `person`: a person has to judge
it; `machine`: the policy is not to blame."""


class Meaning(NamedTuple):
    """What a reason means, for a person, and who is to blame."""

    words: str
    blame: Blame


class Refusal(NamedTuple):
    """A reason, and one line for users about this prediction."""

    reason: str
    sentence: str


WEAK = "weak"
"""The reason of a grade that passed every layer but was refused as weakly assured (`assurance.py`)."""
BREAKS_GRADER = "breaks-the-grader"
"""The reason of a prediction with which a step fails that the calibration took without it. Were it nobody's fault, a
policy could have its failed attempts left out whenever it likes."""
OVER_LIMITS = "over-limits"
"""The reason of an attempt that met a limit of its sandbox again, which is its policy's doing."""
UNPLAYED = "unplayed"
"""The reason of an attempt, or of a prediction, for which no sandbox lasted."""
REASONS: Mapping[str, Meaning] = {
    "failing-tests": Meaning("tests fail", "wrong"),
    "missing-tests": Meaning("tests are missing", "wrong"),
    "no-results": Meaning("the tests gave no results", "wrong"),
    "timeout": Meaning("the tests took too long", "wrong"),
    "empty": Meaning("nothing is changed", "wrong"),
    "malformed": Meaning("the patch cannot be read", "wrong"),
    "oversized": Meaning("the patch is too large", "wrong"),
    "does-not-apply": Meaning("the patch does not apply", "wrong"),
    "nothing-handed-in": Meaning("nothing was submitted", "wrong"),
    OVER_LIMITS: Meaning("its commands met a limit of the sandbox again", "wrong"),
    "touches-tests": Meaning("the patch moves a file into the tests", "wrong"),
    "touches-infrastructure": Meaning("the patch touches what runs the tests", "cheat"),
    # the layers (`layers.LayerName`) that are the reason themselves
    "events": Meaning("events", "cheat"),
    "test-files": Meaning("a test file was rewritten while the tests ran", "cheat"),
    "canaries": Meaning("canaries", "cheat"),
    "witness": Meaning("witness", "cheat"),
    "consistency": Meaning("consistency", "cheat"),
    "names": Meaning("names", "cheat"),
    "counterfactual": Meaning("counterfactual", "cheat"),
    "behaviour": Meaning("behaviour", "wrong"),
    "suspect": Meaning("suspect", "person"),
    WEAK: Meaning("resolved, but weakly assured", "person"),
    BREAKS_GRADER: Meaning("reading it ended in an error of the grader", "wrong"),
    "cannot-be-graded": Meaning("it cannot be graded", "machine"),
    "error": Meaning("error", "machine"),
    UNPLAYED: Meaning("it could not be run", "machine"),
}
WORDS = {name: meaning.words for name, meaning in REASONS.items()}


def reason_in_words(reason: str) -> str:
    """The reason of a grade for a person."""
    return WORDS.get(reason) or spaced(reason)


def blamed(*blames: Blame) -> frozenset[str]:
    """The reasons for which one of these is to blame."""
    return frozenset(name for name, meaning in REASONS.items() if meaning.blame in blames)
