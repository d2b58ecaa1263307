"""What the episodes of both roles share in one repository of a run, in any process."""

from dataclasses import dataclass

from selfplay.rollout.injector import InjectorRun
from selfplay.rollout.solver import SolverRun


@dataclass(frozen=True)
class RepositoryRuns:
    """`injecting`: the injector's episodes; `solving`: attempts at the bugs that were planted there."""

    injecting: InjectorRun
    solving: SolverRun
