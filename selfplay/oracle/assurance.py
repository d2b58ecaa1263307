"""How well a resolved grade is assured: which layers must have been able to show something, and the policy for weakly
assured grades, one setting for grading and for training."""

from collections.abc import Sequence
from typing import Literal, get_args

from selfplay.oracle.layers import Layer, LayerName

Weak = Literal["count", "refuse"]
"""`count`: a weak grade is resolved, and counted separately; `refuse`: it is not resolved, with the reason `weak`."""
CHOICES: tuple[Weak, ...] = get_args(Weak)
NEEDED: tuple[LayerName, ...] = ("canaries", "witness", "behaviour", "scope", "differential", "coverage", "parts")
"""Layers that are required for full assurance: each must have been able to show something."""


def weaknesses(found: Sequence[Layer]) -> tuple[str, ...]:
    """Why a grade with these layers is only weakly assured; empty if it is fully assured."""
    states = {layer.name: layer for layer in found}
    missing = (name for name in NEEDED if name not in states)
    weak = (states[name] for name in NEEDED if name in states and states[name].state in ("unavailable", "skipped"))
    return (*(f"{name}: did not run" for name in missing), *(f"{layer.name}: {layer.reason}" for layer in weak))
