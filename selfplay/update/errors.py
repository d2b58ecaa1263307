"""What can go wrong between stored episodes and an update that a user can mend."""

from selfplay.errors import SelfplayError


class LearningError(SelfplayError):
    """Episodes, or a recipe, from which no update can be made."""


class NothingToLearn(LearningError):
    """No episode gives a gradient."""
