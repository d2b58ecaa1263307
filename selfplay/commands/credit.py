"""What each stored episode of a run has earned: rewards and advantages by the rules of credit, before any training."""

from pathlib import Path

from selfplay.curriculum.crediting import episodes_of
from selfplay.rl.credit import Credit, Rules, credit


def run_credit(run: Path, policy: str | None = None, attempts: int = 0) -> list[Credit]:
    """The credit of the injections of a run and of the attempts of `policy`. `attempts`: how many were planned for each
    bug; 0: as many as were made. Raises `CurriculumError`."""
    return credit(episodes_of(run, policy), Rules(attempts=attempts))
