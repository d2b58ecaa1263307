"""The pool of bugs of a run: states, lineage, figures. Knows nothing of policies or sandboxes."""

from selfplay.curriculum.store import DUPLICATE, Curriculum, CurriculumError, EpisodeResult, Progress, open_curriculum

__all__ = ["DUPLICATE", "Curriculum", "CurriculumError", "EpisodeResult", "Progress", "open_curriculum"]
