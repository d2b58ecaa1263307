"""Errors between stored episodes and an update that a user can mend."""

from selfplay.errors import SelfplayError


class LearningError(SelfplayError):
    """Episodes or a recipe that cannot make an update."""


class NothingToLearn(LearningError):
    """No episode gives a gradient."""
