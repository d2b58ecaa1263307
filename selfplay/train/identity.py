"""Which model a checkpoint belongs to: its parameters' shapes, its settings, its adapters and their base weights.

Shapes alone are not enough: models of equal shapes may differ in the base of the rotation or the adapters' scale.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from selfplay.train.errors import TrainError
from selfplay.train.model import Scorer

ASIDE = (
    "_name_or_path", "architectures", "attn_implementation", "_attn_implementation", "dtype", "torch_dtype",
    "transformers_version", "use_cache",
)  # fmt: skip
"""Settings of a model that do not affect its computation in training, or depend on how it is run here."""
ADVICE = "Name the model and the options it was begun with, or another folder."


def described(scorer: Scorer) -> dict[str, Any]:
    """Plain values for a checkpoint's description."""
    adapters = scorer.options.lora
    return {
        "model": {name: list(parameter.shape) for name, parameter in scorer.named_parameters()},
        "config": _settings(json.loads(scorer.model.config.to_json_string(use_diff=False))),
        "lora": adapters and {"rank": adapters.rank, "scale": adapters.scale, "targets": sorted(adapters.targets)},
        "frozen": scorer.frozen,
    }


def check_model(scorer: Scorer, about: Mapping[str, Any], path: Path) -> None:
    """Raises `TrainError` unless a checkpoint's description is that of this model. Settings that only one of them has
    come from another version and are ignored; so are parts that an older checkpoint lacks."""
    ours = described(scorer)
    _compare(about["model"], ours["model"], path)
    theirs = about.get("config", {})
    for name in sorted(ours["config"].keys() & theirs.keys()):
        _refuse_other(name, theirs[name], ours["config"][name], path)
    if "lora" in about:
        _refuse_other("lora", about["lora"], ours["lora"], path)
    if about.get("frozen", ours["frozen"]) != ours["frozen"]:
        raise TrainError(f"{path} is a checkpoint of adapters on other weights than this model's", ADVICE)


def _settings(found: Any) -> Any:
    if not isinstance(found, dict):
        return found
    return {name: _settings(value) for name, value in found.items() if name not in ASIDE}


def _compare(theirs: Mapping[str, list[int]], ours: Mapping[str, list[int]], path: Path) -> None:
    for name in sorted(ours.keys() | theirs.keys()):
        _refuse_other(name, theirs.get(name, "no such tensor"), ours.get(name, "no such tensor"), path)


def _refuse_other(name: str, theirs: object, ours: object, path: Path) -> None:
    if theirs != ours:
        raise TrainError(f"{path} is a checkpoint of another model: {name} is {theirs} there and {ours} here", ADVICE)
