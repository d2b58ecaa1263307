"""Self-play on real software: one model plants bugs and hides them, the same model fixes them.

The names below are the public API (`docs/api.md`); they are loaded on first use, since the command must start quickly.
"""

from typing import TYPE_CHECKING, Any

from selfplay.version import VERSION

if TYPE_CHECKING:
    from selfplay.api import (
        SSR_TOOLS,
        Call,
        Curriculum,
        CurriculumWatcher,
        Grade,
        Order,
        Policy,
        Record,
        SelfplayError,
        SolveOrder,
        Workers,
        World,
        grade,
        load_rollout,
        make_curriculum,
        open_backend,
        play_episode,
        read_pool,
        solve_bugs,
    )

__version__ = VERSION
__all__ = [
    "SSR_TOOLS",
    "Call",
    "Curriculum",
    "CurriculumWatcher",
    "Grade",
    "Order",
    "Policy",
    "Record",
    "SelfplayError",
    "SolveOrder",
    "Workers",
    "World",
    "grade",
    "load_rollout",
    "make_curriculum",
    "open_backend",
    "play_episode",
    "read_pool",
    "solve_bugs",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'selfplay' has no attribute {name!r}")
    from selfplay import api

    return getattr(api, name)


def __dir__() -> list[str]:
    return sorted(__all__)
