"""The results of each repository of a pool: its bugs, its episodes, its cost, and why there are no more bugs."""

from collections import Counter
from typing import Any

from pydantic import BaseModel, ConfigDict

from selfplay.artifact.decoding import typed
from selfplay.artifact.reading import UntrustedDataError
from selfplay.curriculum.records import DAMAGED, Count, CurriculumError, EpisodeRecord
from selfplay.curriculum.store import Curriculum


class Facts(BaseModel):
    """The pool's facts about a repository that are reported. `stopped`: why no more bugs were made; `hint`: what to do
    about it; `failed`: it could not be used at all."""

    model_config = ConfigDict(extra="allow", frozen=True)

    revision: str = ""
    language: str = ""
    wanted: Count = 0
    tests: Count = 0
    stopped: str = ""
    hint: str = ""
    failed: bool = False


def facts_of(pool: Curriculum) -> dict[str, Facts]:
    """Repository -> its facts, in the order of the pool. Raises `CurriculumError` for a damaged row."""
    try:
        return {name: typed(Facts, facts, "it") for name, facts in pool.repositories().items()}
    except UntrustedDataError as error:
        raise CurriculumError(f"a repository of {pool.folder} is damaged: {error}", DAMAGED) from error


def repository_rows(pool: Curriculum, episodes: list[EpisodeRecord]) -> list[dict[str, Any]]:
    """A row for each repository. `valid_share`: among its submitted artifacts without duplicates; `minutes`: of
    preparation and episodes over all resumptions, if the pool counted them."""
    own: dict[str, list[EpisodeRecord]] = {}
    for one in episodes:
        own.setdefault(one.repository, []).append(one)
    costs = pool.costs()
    return [
        {**facts.model_dump(include=SHOWN), "name": name, **_made(own.get(name, [])), "minutes": _minutes(costs, name)}
        for name, facts in facts_of(pool).items()
    ]


SHOWN = {"wanted", "tests", "stopped", "hint", "failed"}


def _made(episodes: list[EpisodeRecord]) -> dict[str, Any]:
    bugs = [one for one in episodes if one.status == "valid"]
    judged = [one for one in episodes if one.status in ("valid", "invalid")]
    return {
        "bugs": len(bugs),
        "by_strategy": dict(Counter(one.strategy for one in bugs)),
        "episodes": len(episodes),
        "valid_share": round(len(bugs) / len(judged), 3) if judged else None,
    }


def _minutes(costs: dict[str, tuple[float, float]], name: str) -> float | None:
    return round(costs[name][0] / 60, 2) if name in costs else None
