"""The pool of bugs of a run: states, lineage, figures. Knows nothing of policies or sandboxes."""

from selfplay.curriculum.opening import open_curriculum, open_existing, read_pool
from selfplay.curriculum.result import DUPLICATE, CurriculumError, EpisodeResult, Progress
from selfplay.curriculum.store import Curriculum

__all__ = [
    "DUPLICATE",
    "Curriculum",
    "CurriculumError",
    "EpisodeResult",
    "Progress",
    "open_curriculum",
    "open_existing",
    "read_pool",
]
