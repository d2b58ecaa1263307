"""One episode: the tool loop, its budget, its tokens and its trajectory. Knows neither the model nor the role."""

from selfplay.agent.actions import Budget, Call, Finish, Malformed, Observation, Stop, Turn
from selfplay.agent.episode import EpisodeLimits, Policy, play_episode
from selfplay.agent.toolset import Tool, Toolset
from selfplay.agent.trajectory import EpisodeFigures, Record, Step, Trajectory

__all__ = [
    "Budget",
    "Call",
    "EpisodeFigures",
    "EpisodeLimits",
    "Finish",
    "Malformed",
    "Observation",
    "Policy",
    "Record",
    "Step",
    "Stop",
    "Tool",
    "Toolset",
    "Trajectory",
    "Turn",
    "play_episode",
]
