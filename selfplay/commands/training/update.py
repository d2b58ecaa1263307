"""The part of `selfplay train` that needs torch: the trainer, its checkpoints, the weights for the engine."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from selfplay.commands.result_folder import whole_folder
from selfplay.loop.config import TrainConfig
from selfplay.loop.errors import TrainingError
from selfplay.policies.broadcast import WeightGroup, joined
from selfplay.policies.rendezvous import Fact, Rendezvous
from selfplay.train.errors import TrainError
from selfplay.train.model import Scorer, first_rank
from selfplay.train.weights import engine_shapes, engine_weights, written_dtype
from selfplay.update.batch.crediting import Credited
from selfplay.update.batch.figures import UpdateFigures
from selfplay.update.batch.summary import rollout_figures
from selfplay.update.errors import NothingToLearn
from selfplay.update.step.policies import OnePolicy, PolicyByRole, TrainedPolicy

KEPT = 2
"""How many folders of weights are kept: an engine may still read the previous one."""


class Learner:
    """The model in training. `version`: how many updates it has taken, the version of its weights."""

    def __init__(self, config: TrainConfig, out: Path) -> None:
        """Load the model and the newest checkpoint, if there is one. Raises `TrainError`."""
        self.config, self.out = config, out
        kind = PolicyByRole if config.roles == "separate" else OnePolicy
        self._policy: TrainedPolicy = kind(config.model, config.recipe, out / "refused")
        self._position = self._policy.resume(out / "checkpoints")
        self._written: int | None = None
        self._group: WeightGroup | None = None

    @property
    def version(self) -> int:
        return self._policy.version

    def learn(self, rollouts: Sequence[Credited], step: int) -> UpdateFigures:
        """Take the update of a step and store it; returns its figures. A step that the checkpoint has was updated
        before a kill and is not updated again.

        Raises `StepRefused` for a loss or gradient that is not finite, `TrainError` if nothing can be written."""
        if self._position.get("step") == step:
            return _figures(self._position.get("figures"))  # from a checkpoint of this run
        try:
            figures = self._policy.update(rollouts, self.config.recipe).figures()
        except NothingToLearn as error:
            return {"step": None, "nothing": error.message, "rollouts": rollout_figures(rollouts)}
        self._position = {"step": step, "figures": figures}
        self._policy.save(self.out / "checkpoints", self._position, self.config.keep)
        return figures

    def write(self) -> Path | None:
        """The folder with the current weights; None before the first update. Each process writes it once, even if it
        exists: after a power cut its content may be missing. Every rank calls it, the first one writes. Raises
        `TrainingError` if it cannot be written."""
        if not self.version:
            return None
        target = self.out / "weights" / f"{self.version:06d}"
        if self._written != self.version:
            source, dtype = Path(self.config.model), self._dtype
            if not first_rank():
                self._policy.write(target, source, dtype)  # takes part but writes nothing
            else:
                shutil.rmtree(target, ignore_errors=True)
                with whole_folder(target, TrainingError, "The same command resumes.") as made:
                    self._policy.write(made, source, dtype)
                older = [one for one in sorted(target.parent.glob("[0-9]*")) if one.name < target.name]
                for old in older[: 1 - KEPT]:  # not by number alone: a shared run may hold higher ones
                    shutil.rmtree(old, ignore_errors=True)
            self._written = self.version
        return target

    def facts(self) -> list[Fact]:
        """The tensors that `send` sends, in its order; none for adapters, which go as files."""
        if not isinstance(self._policy, OnePolicy):
            return []
        dtype = str(self._dtype).removeprefix("torch.")
        return [(name, dtype, shape) for name, shape in engine_shapes(self._scorer).items()]

    def send(self, meeting: Rendezvous) -> str | None:
        """Send the current weights to the engines of a group. Returns the error, or None. Every rank calls it and
        iterates over all weights even after an error, since the others wait for it."""
        failed = self._join(meeting) if first_rank() else None
        for _, tensor in engine_weights(self._scorer, self._dtype):
            if self._group is not None and failed is None:
                try:
                    self._group.send(tensor)
                except RuntimeError as error:  # an engine is gone
                    failed = str(error)
        if failed is not None:
            self._group = None
        return failed

    def _join(self, meeting: Rendezvous) -> str | None:
        try:
            self._group = joined(self._group, meeting, 0, self._scorer.device)
        except RuntimeError as error:
            return str(error)
        return None

    @property
    def _scorer(self) -> Scorer:
        """The model to send; the adapters of separate roles go as files."""
        assert isinstance(self._policy, OnePolicy)
        return self._policy.scorer

    @property
    def _dtype(self) -> Any:
        return written_dtype(self.config.model, "fp32")


def _figures(stored: Any) -> UpdateFigures:
    """The figures of an update, as a checkpoint holds them. Raises `TrainError` for anything else."""
    shaped = isinstance(stored, dict) and isinstance(stored.get("rollouts"), dict)
    if not shaped or not isinstance(stored.get("step"), dict | None):
        raise TrainError("the newest checkpoint does not hold the figures of its update", "Remove its folder.")
    return cast(UpdateFigures, dict(stored))
