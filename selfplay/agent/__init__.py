"""One episode: the tool loop, its budget and its trajectory. Knows neither the model nor the role it plays."""

from selfplay.agent.actions import Budget, Call, Observation
from selfplay.agent.episode import EpisodeLimits, Policy, run_episode
from selfplay.agent.trajectory import Finish, Step, Trajectory

__all__ = [
    "Budget",
    "Call",
    "EpisodeLimits",
    "Finish",
    "Observation",
    "Policy",
    "Step",
    "Trajectory",
    "run_episode",
]
