"""One episode: the tool loop, its budget, its tokens and its trajectory. Knows neither which model nor which role."""

from selfplay.agent.actions import Budget, Call, Finish, Malformed, Observation, Stop, Turn
from selfplay.agent.episode import EpisodeLimits, play_episode, run_episode
from selfplay.agent.hands import AsyncPolicy, Policy, Threads
from selfplay.agent.trajectory import Record, Step, Trajectory

__all__ = [
    "AsyncPolicy",
    "Budget",
    "Call",
    "EpisodeLimits",
    "Finish",
    "Malformed",
    "Observation",
    "Policy",
    "Record",
    "Step",
    "Stop",
    "Threads",
    "Trajectory",
    "Turn",
    "play_episode",
    "run_episode",
]
