"""The roles that a `--role` of lessons names."""

from typing import get_args

from selfplay.curriculum import CurriculumError
from selfplay.rl.credit.rules import RoleName

BOTH = "both"


def asked_roles(named: str) -> tuple[RoleName, ...]:
    """The role of this name, or both. Raises `CurriculumError` for any other name."""
    roles: tuple[RoleName, ...] = tuple(role for role in get_args(RoleName) if named in (role, BOTH))
    if not roles:
        raise CurriculumError(f"there is no role {named!r}", "The roles are injector, solver and both.")
    return roles
