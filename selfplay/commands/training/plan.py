"""What `selfplay train --plan` does, and the checks before a run: compare a configuration with its model's sizes.
Nothing is started or fetched."""

from pathlib import Path

from selfplay.artifact.reading import MIB, UntrustedDataError, read_named
from selfplay.loop.config import TrainConfig
from selfplay.loop.plan import Plan, plan_of, refuse_for_model
from selfplay.loop.planning.shapes import KNOWN, ModelShape, PlanError, shape_of
from selfplay.untrusted_json import AnswerError, json_value

CONFIG = "config.json"


def planned(config: TrainConfig) -> Plan:
    """The plan of a run. Raises `PlanError` if the model's sizes are not known here."""
    shape = known_shape(config.model)
    if shape is None:
        raise PlanError(
            f"the sizes of {config.model} are not known here, and nothing is fetched for a plan",
            f"Give model=FOLDER with its {CONFIG}, or one of {', '.join(KNOWN)}.",
        )
    return plan_of(config, shape)


def refuse_impossible(config: TrainConfig) -> None:
    """Raises `PlanError` for settings that are impossible with the model, if its sizes are known before it is
    loaded."""
    shape = known_shape(config.model)
    if shape is not None:
        refuse_for_model(config, shape)


def known_shape(model: str) -> ModelShape | None:
    """The sizes of a model in a folder or known by name. Raises `PlanError` for a folder that is not a model's."""
    if not Path(model).is_dir():
        return KNOWN.get(model)
    path = Path(model) / CONFIG
    try:
        found = json_value(read_named(path, MIB))
    except (UntrustedDataError, AnswerError) as error:
        raise PlanError(f"{path} cannot be read: {error}", "Name the folder of a causal language model.") from error
    if not isinstance(found, dict):
        raise PlanError(f"{path} has no settings", "Name the folder of a causal language model.")
    return shape_of(found, model)
