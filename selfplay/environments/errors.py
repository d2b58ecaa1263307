"""The errors that a trainer may get, each with its HTTP status."""

from selfplay.errors import SelfplayError


class EnvironmentRefused(SelfplayError):
    """A request that is wrong."""

    status = 400


class WrongToken(EnvironmentRefused):
    """A request without the server's token."""

    status = 401


class NoSession(EnvironmentRefused):
    """A session that does not exist, or no longer exists."""

    status = 404


class NoTask(EnvironmentRefused):
    """A task that does not exist, or a bug that may not be attempted."""

    status = 404


class Conflict(EnvironmentRefused):
    """A step of a session that has ended, or whose previous step is not answered yet."""

    status = 409


class Busy(EnvironmentRefused):
    """Every session is taken."""

    status = 503


KINDS = {kind.__name__: kind for kind in (EnvironmentRefused, WrongToken, NoSession, NoTask, Conflict, Busy)}
