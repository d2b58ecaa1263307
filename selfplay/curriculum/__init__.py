"""The pool of a run: its repositories, bugs, attempts, versions and lineage. Knows nothing of policies or sandboxes."""

from selfplay.curriculum.open_pool import open_curriculum, open_existing, read_pool
from selfplay.curriculum.records import (
    DUPLICATE,
    Attempt,
    AttemptFigures,
    CurriculumError,
    EpisodeRecord,
    OtherSettings,
    Promotion,
    RunProgress,
    StoredEpisodeFigures,
)
from selfplay.curriculum.store import Curriculum

__all__ = [
    "DUPLICATE",
    "Attempt",
    "AttemptFigures",
    "Curriculum",
    "CurriculumError",
    "EpisodeRecord",
    "OtherSettings",
    "Promotion",
    "RunProgress",
    "StoredEpisodeFigures",
    "open_curriculum",
    "open_existing",
    "read_pool",
]
