"""What can go wrong with a training run that a user can mend."""

from selfplay.errors import SelfplayError


class TrainingError(SelfplayError):
    """A configuration that cannot be, or a run that cannot go on."""
