"""How far the weights of two training runs are apart, as a share of how far they moved.

Means over all parameters: Adam moves a parameter whose gradient is nothing but rounding by as much as any other, either
way, so no small bound holds for each single one, and sums of the same numbers may be rounded differently.
"""

from pathlib import Path

from safetensors.torch import load_file


def apart(one: Path, other: Path, before: Path, role: str = "") -> float:
    """`one` and `other`: folders of runs, each with weights of the same version; `before`: that of the first model.
    `role`: whose weights, where each role has its own."""
    name = max(path.name for path in (one / "weights").iterdir())
    mine, theirs = (load_file(folder / "weights" / name / role / "model.safetensors") for folder in (one, other))
    start = load_file(before / "model.safetensors")
    between = sum(float((mine[key] - theirs[key]).abs().sum()) for key in mine)
    return between / sum(float((mine[key] - start[key].float()).abs().sum()) for key in mine)
