"""Errors on the way from a SOURCE to a measured suite, with advice for the user. A `RepositoryError` is the fault of
what the source holds, a `CacheError` never."""

from selfplay.errors import SelfplayError


class CacheError(SelfplayError):
    """The folder of built environments, or another output folder, cannot be used."""


class RepositoryError(SelfplayError):
    """Base of the errors that a repository causes."""


class SourceError(RepositoryError):
    """The source is malformed, is not a repository, or cannot be fetched."""


class NoInterpreter(RepositoryError):
    """No Python on this machine satisfies the project."""


class NoToolchain(RepositoryError):
    """A program that repositories of a language need is not on this machine, or not in the image."""


class BuildFailed(RepositoryError):
    """A step of the environment's build failed; names the step, its last lines, and its log."""


class NoTests(RepositoryError):
    """The repository has no tests that can be collected."""


class NoPassingTests(RepositoryError):
    """The repository has tests, but none passes at HEAD."""


class BadStream(RepositoryError):
    """Data from a sandbox that our program there cannot have written: something inside changed it."""


class TooLarge(BadStream):
    """Data from a sandbox, or an archive's content, exceeds a limit; the message names it."""
