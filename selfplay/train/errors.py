"""Errors in training that a user can mend."""

from selfplay.errors import SelfplayError


class TrainError(SelfplayError):
    """A model, batch or checkpoint that cannot be trained with, and why."""


class StepRefused(TrainError):
    """A loss or gradient that is not finite. The weights are unchanged; the batch is in a file."""
