"""Supervised fine-tuning: epochs over examples, a held-out loss after each, early stop, resume.

Every batch is `batch` sequences; its loss is the mean over its trained tokens. The seed fixes the order of an epoch, so
a resumed run sees the same batches. It keeps the best epoch and those after it, and the newest checkpoint inside an
epoch.
"""

import json
import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from torch import Tensor

from selfplay.rl.loss import losses
from selfplay.train import checkpoint
from selfplay.train.errors import TrainError
from selfplay.train.packing import Example
from selfplay.train.step import StepFigures, Tokens, Trainer
from selfplay.untrusted_json import answer


@dataclass(frozen=True)
class TuneOptions:
    """`patience`: epochs without a lower held-out loss before it stops; `save_every`: steps between checkpoints inside
    an epoch."""

    epochs: int = 3
    batch: int = 8
    patience: int = 1
    save_every: int = 50
    seed: int = 0


@dataclass(frozen=True)
class Epoch:
    """`loss`: mean over the epoch's trained tokens, each before its step; `held_out`: after it, None without any."""

    number: int
    step: int
    loss: float
    held_out: float | None


@dataclass
class Tuned:
    """The state of a run. `before`: the held-out loss of the initial model; `batch`: the next batch of the current
    epoch; `loss` and `tokens`: summed over the epoch's trained tokens so far."""

    before: float | None = None
    epochs: list[Epoch] = field(default_factory=list)
    batch: int = 0
    loss: float = 0.0
    tokens: int = 0

    @property
    def best(self) -> Epoch:
        """The epoch with the lowest held-out loss; without held-out examples, the last one."""
        if self.epochs[-1].held_out is None:
            return self.epochs[-1]
        return min(self.epochs, key=lambda epoch: epoch.held_out or 0.0)

    @property
    def worse(self) -> bool:
        """Whether even the best epoch has a higher held-out loss than the initial model."""
        return self.before is not None and (self.best.held_out or 0.0) > self.before

    @classmethod
    def read(cls, position: Any) -> "Tuned":
        """Raises `ValueError` for what no run stores."""
        return answer(cls, json.dumps(position).encode())


Report = Callable[[Tuned, StepFigures], None]


def tune(
    trainer: Trainer,
    training: Sequence[Example],
    held_out: Sequence[Example],
    options: TuneOptions,
    folder: Path,
    kind: Mapping[str, Any],
    report: Report = lambda tuned, figures: None,
) -> Tuned:
    """Train until all epochs are done or the held-out loss rises; the trainer then has the best weights.

    `folder`: for checkpoints. `kind`: plain values that fix the run; a checkpoint of another kind is refused. Raises
    `TrainError`."""
    tuned = _resumed(trainer, folder, kind) or Tuned(mean_loss(trainer, held_out))
    while len(tuned.epochs) < options.epochs and not _stopped(tuned, options.patience):
        for batch in _batches(training, options, len(tuned.epochs), tuned.batch):
            trained = sum(example.trained for example in batch)
            figures = trainer.step(batch, cross_entropy, trained)
            tuned.batch, tuned.tokens = tuned.batch + 1, tuned.tokens + trained
            tuned.loss += figures.loss * trained
            report(tuned, figures)
            if tuned.batch % options.save_every == 0:
                checkpoint.save(trainer, folder / "within", _position(tuned, kind))
        loss = tuned.loss / tuned.tokens
        tuned.epochs.append(Epoch(len(tuned.epochs) + 1, trainer.steps, loss, mean_loss(trainer, held_out)))
        tuned.batch, tuned.loss, tuned.tokens = 0, 0.0, 0
        checkpoint.save(trainer, folder / "epochs", _position(tuned, kind), keep=options.patience + 1)
    if tuned.best.step != trainer.steps:
        checkpoint.load(trainer, folder / "epochs" / f"step-{tuned.best.step}")
    return tuned


def mean_loss(trainer: Trainer, examples: Sequence[Example]) -> float | None:
    """The mean loss over the trained tokens; None without examples."""
    if not examples:
        return None
    return trainer.total(examples, cross_entropy) / sum(example.trained for example in examples)


def cross_entropy(tokens: Tokens) -> Tensor:
    """-log p, summed over the trained tokens."""
    return losses.cross_entropy(tokens.logprobs, tokens.mask).sum()


def batches(count: int, options: TuneOptions) -> int:
    """Steps of an epoch of `count` examples."""
    return -(-count // options.batch)


def forget(folder: Path) -> None:
    """Remove the checkpoints of a finished run."""
    shutil.rmtree(folder, ignore_errors=True)


def _batches(training: Sequence[Example], options: TuneOptions, epoch: int, first: int) -> Iterator[list[Example]]:
    order = list(training)
    random.Random(f"{options.seed}/{epoch}").shuffle(order)
    for at in range(first * options.batch, len(order), options.batch):
        yield order[at : at + options.batch]


def _stopped(tuned: Tuned, patience: int) -> bool:
    return bool(tuned.epochs) and len(tuned.epochs) - tuned.best.number >= patience


def _position(tuned: Tuned, kind: Mapping[str, Any]) -> dict[str, Any]:
    return {"kind": dict(kind), "tuned": asdict(tuned)}


def _resumed(trainer: Trainer, folder: Path, kind: Mapping[str, Any]) -> Tuned | None:
    """Loads the newest checkpoint into the trainer and returns its state, or None. Raises `TrainError`."""
    found = [path for part in ("within", "epochs") for path in checkpoint.checkpoints(folder / part)]
    if not found:
        return None
    newest = max(found, key=lambda path: (int(path.name.removeprefix("step-")), path.parent.name == "epochs"))
    position = checkpoint.load(trainer, newest)
    known = position.get("kind")
    if not isinstance(known, dict):
        raise _nowhere(newest, "it does not say of which run it is")
    for name in kind:
        if known.get(name) != kind[name]:
            raise TrainError(
                f"{folder} holds a run with another {name}: {known.get(name)}, not {kind[name]}",
                "Give the same options to resume it, or another --out.",
            )
    try:
        return Tuned.read(position.get("tuned"))
    except ValueError as error:
        raise _nowhere(newest, str(error)) from error


def _nowhere(checkpoint: Path, why: str) -> TrainError:
    return TrainError(f"{checkpoint} is not where a run can go on: {why}", "Remove it, or give another --out.")
