"""Who decides: policies answer observations with calls. They never see a sandbox."""

from selfplay.policies.scripted import Script, ScriptedPolicy

__all__ = ["Script", "ScriptedPolicy"]
