"""Errors of a cluster that a user can mend."""

from selfplay.errors import SelfplayError

RESUMES = "The same command resumes the run."


class ClusterError(SelfplayError):
    """A cluster that cannot be joined, is too small, or keeps failing."""
