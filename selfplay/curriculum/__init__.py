"""The pool of a run: its repositories, bugs, attempts, versions and lineage. Knows nothing of policies or sandboxes."""

from selfplay.curriculum.open_pool import open_curriculum, open_existing, read_pool
from selfplay.curriculum.records import (
    DUPLICATE,
    Attempt,
    AttemptFigures,
    CurriculumError,
    EpisodeFigures,
    EpisodeRecord,
    OtherSettings,
    Progress,
    Promotion,
)
from selfplay.curriculum.store import Curriculum

__all__ = [
    "DUPLICATE",
    "Attempt",
    "AttemptFigures",
    "Curriculum",
    "CurriculumError",
    "EpisodeFigures",
    "EpisodeRecord",
    "OtherSettings",
    "Progress",
    "Promotion",
    "open_curriculum",
    "open_existing",
    "read_pool",
]
