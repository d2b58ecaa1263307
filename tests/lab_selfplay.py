"""What a lab writes to use our environments with verifiers: a module of its own at the top (docs/environments.md)."""

from selfplay.environments.for_verifiers import SelfPlayEnv, SelfPlayHarness, SelfPlayTaskset

__all__ = ["SelfPlayEnv", "SelfPlayHarness", "SelfPlayTaskset"]
