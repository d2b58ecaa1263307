"""What a run trains: one policy for both roles, or an adapter for each role on shared frozen weights.

Either takes a step's update, is stored atomically, and is written for engines.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch

from selfplay.train import checkpoint
from selfplay.train.model import load_scorer, load_scorers
from selfplay.train.step import Trainer
from selfplay.train.weights import write_model
from selfplay.update.batch.crediting import Credited
from selfplay.update.batch.examples import ROLES
from selfplay.update.recipe import Recipe
from selfplay.update.step.one_update import Updated, model_options, step_options, update, update_apart


class TrainedPolicy(Protocol):
    """`version`: how many updates it has taken."""

    @property
    def version(self) -> int: ...

    def update(self, rollouts: Sequence[Credited], recipe: Recipe) -> Updated:
        """Take a step. Raises as `one_update.update` does."""
        ...

    def save(self, folder: Path, position: Mapping[str, Any], keep: int) -> None:
        """Write a checkpoint. Raises `TrainError`."""
        ...

    def resume(self, folder: Path) -> dict[str, Any]:
        """Load the newest checkpoint; its position, empty where there is none. Raises `TrainError`."""
        ...

    def write(self, folder: Path, source: Path, dtype: torch.dtype) -> None:
        """Write the weights, with the tokenizer of `source`. Raises `OSError`."""
        ...


class OnePolicy:
    """A model that plays both roles."""

    def __init__(self, model: str, recipe: Recipe, refused: Path) -> None:
        """Raises `TrainError`."""
        self.scorer = load_scorer(model, model_options(recipe))
        self._trainer = Trainer(self.scorer, step_options(recipe, refused=refused))

    @property
    def version(self) -> int:
        return self._trainer.steps

    def update(self, rollouts: Sequence[Credited], recipe: Recipe) -> Updated:
        return update(self._trainer, rollouts, recipe)

    def save(self, folder: Path, position: Mapping[str, Any], keep: int) -> None:
        checkpoint.save(self._trainer, folder, position, keep)

    def resume(self, folder: Path) -> dict[str, Any]:
        return checkpoint.resume(self._trainer, folder) or {}

    def write(self, folder: Path, source: Path, dtype: torch.dtype) -> None:
        write_model(self.scorer, folder, source, dtype)


class PolicyByRole:
    """An adapter for each role, trained on that role's episodes alone, with its own optimizer, warm-up and gradient
    norm. Both share one version number."""

    def __init__(self, model: str, recipe: Recipe, refused: Path) -> None:
        """Raises `TrainError`."""
        scorers = dict(zip(ROLES, load_scorers(model, model_options(recipe), len(ROLES)), strict=True))
        self.trainers = {
            role: Trainer(scorer, step_options(recipe, refused=refused / role)) for role, scorer in scorers.items()
        }
        self._version = 0

    @property
    def version(self) -> int:
        return self._version

    def update(self, rollouts: Sequence[Credited], recipe: Recipe) -> Updated:
        done = update_apart(self.trainers, rollouts, recipe)
        self._version += 1
        return done

    def save(self, folder: Path, position: Mapping[str, Any], keep: int) -> None:
        checkpoint.save_together(self.trainers, folder, self._version, position, keep)

    def resume(self, folder: Path) -> dict[str, Any]:
        self._version, position = checkpoint.resume_together(self.trainers, folder) or (0, {})
        return position

    def write(self, folder: Path, source: Path, dtype: torch.dtype) -> None:
        """Write a model for each role in a folder of its name: the weights with its adapter added, and the adapter
        alone."""
        for role, trainer in self.trainers.items():
            write_model(trainer.scorer, folder / role, source, dtype)
