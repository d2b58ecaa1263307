"""A finished step of a training run: the loop writes it, the ledger and `metrics.jsonl` keep it, pages read it."""

from typing import TypedDict

from selfplay.update.batch.figures import SecondsSpent, UpdateFigures


class Phases(TypedDict):
    """Seconds of each. `wait`: how long the trainer was idle before."""

    wait: float
    credit: float
    learn: float
    sync: float


class RepositoryFigures(TypedDict):
    """`groups`: repository -> injector groups of a step; `benched`: how many are; `reasons`: why each of them is."""

    groups: dict[str, int]
    benched: int
    reasons: dict[str, str]


class StepRecord(UpdateFigures):
    """`number`: from 0; `version`: of the weights that played it; `spent`: role -> seconds of its episodes."""

    number: int
    version: int
    phases: Phases
    spent: dict[str, SecondsSpent]


class StepOfSeveral(StepRecord):
    """A step of a run on several repositories."""

    repositories: RepositoryFigures


def seconds_of(phases: Phases) -> float:
    """The seconds of all phases together."""
    return phases["wait"] + phases["credit"] + phases["learn"] + phases["sync"]
