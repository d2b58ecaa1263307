"""One update: a batch of examples and a loss -> new weights, or a refusal that leaves them unchanged.

The caller's loss returns the *sum* over a row's tokens, and the caller gives one normaliser for the whole batch. So the
gradient does not depend on how the batch was split: a row is a micro-batch, a rank has every n-th row, and gradients
are summed over both.
"""

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from selfplay.train.errors import StepRefused, TrainError
from selfplay.train.memory import return_freed_memory
from selfplay.train.model import Scorer, first_rank, sharded
from selfplay.train.packing import Example, check_readable
from selfplay.train.rows import PackedRow, rows


@dataclass(frozen=True)
class Tokens:
    """A row as a loss reads it; every tensor is `[tokens]`. Outside `mask`, log-probabilities and entropies are 0 and
    `numbers` (advantages, the engine's log-probabilities) are undefined. `sequence` numbers the row's sequences from
    0."""

    logprobs: Tensor
    entropies: Tensor
    mask: Tensor
    sequence: Tensor
    numbers: Mapping[str, Tensor]


Loss = Callable[[Tokens], Tensor]
"""The sum of a row's losses, a scalar."""


@dataclass(frozen=True)
class StepOptions:
    """`lr` is reached linearly over the first `warmup` steps and then stays, or falls along half a cosine to 0 at step
    `decay`. `clip`: the largest norm of the gradient, inf for no limit. `budget`: tokens of a row. `refused`: the
    folder for batches whose step was refused. Raises `TrainError` for impossible values."""

    lr: float = 1e-6
    warmup: int = 0
    clip: float = 1.0
    betas: tuple[float, float] = (0.9, 0.95)
    weight_decay: float = 0.0
    budget: int = 8192
    refused: Path = Path("refused")
    decay: int | None = None

    def __post_init__(self) -> None:
        for wrong, why in (
            (not 0 <= self.lr < math.inf, f"the learning rate must be finite and at least 0, not {self.lr}"),
            (not self.clip > 0, f"the gradient's clip must be above 0, not {self.clip}"),
            (not 0 <= self.weight_decay < math.inf, f"weight decay is finite and at least 0, not {self.weight_decay}"),
            (not all(0 <= beta < 1 for beta in self.betas), f"betas lie in 0 to 1 (without 1), not {self.betas}"),
            (self.warmup < 0, f"warm-up is a number of steps, at least 0, not {self.warmup}"),
            (
                self.decay is not None and self.decay <= self.warmup,
                f"the learning rate falls until a step after its warm-up of {self.warmup}, not until {self.decay}",
            ),
            (self.budget < 2, f"the budget of a row is at least 2 tokens, not {self.budget}"),
        ):
            if wrong:
                raise TrainError(why)


@dataclass(frozen=True)
class StepFigures:
    """What an update did. `loss`: divided by the normaliser; `gradient`: its norm before clipping; `entropy`: mean over
    the trained tokens, in nats; `tokens`: of all sequences; `rows`: of this rank, with `row_tokens` in them: a
    shared prompt counts once."""

    step: int
    loss: float
    gradient: float
    entropy: float
    lr: float
    tokens: int
    trained: int
    rows: int
    row_tokens: int
    seconds: float


class Trainer:
    """A scorer with its optimizer. `steps`: how many updates it has taken."""

    def __init__(self, scorer: Scorer, options: StepOptions = StepOptions()) -> None:
        self.scorer, self.options, self.steps = scorer, options, 0
        self.optimizer = torch.optim.AdamW(
            trained(scorer), options.lr, options.betas, weight_decay=options.weight_decay, fused=True
        )

    @property
    def lr(self) -> float:
        """The learning rate of the next step."""
        warmup, decay = self.options.warmup, self.options.decay
        if self.steps < warmup or decay is None:
            return self.options.lr * min(1.0, (self.steps + 1) / max(warmup, 1))
        passed = min(1.0, (self.steps - warmup) / (decay - warmup))
        return self.options.lr * (1 + math.cos(math.pi * passed)) / 2

    def step(self, examples: Sequence[Example], loss: Loss, normaliser: float) -> StepFigures:
        """Take one step. Every rank gives the same examples. Raises `StepRefused` for a loss or gradient that is not
        finite, `TrainError` for examples that this model cannot read."""
        started, mine = time.monotonic(), self._rows(examples, normaliser)
        self.optimizer.zero_grad()  # left by a step whose loss raised
        sums = torch.zeros(2, device=self.scorer.device, dtype=torch.float64)  # loss, entropy
        for row in mine:
            tokens = self._tokens(row)
            value = loss(tokens) / normaliser if row.names else tokens.logprobs.sum()
            value.backward()
            sums += torch.stack([value.detach().double(), tokens.entropies.detach().double().sum()])
        _sum_over_ranks(sums)
        found, trained = sums.tolist(), sum(example.trained for example in examples)
        norm = self._update(found[0], examples)
        if self.scorer.device.type == "cpu":
            return_freed_memory()
        entropy = found[1] / max(trained, 1)
        total, lr = sum(len(example.ids) for example in examples), self.optimizer.param_groups[0]["lr"]
        held, seconds = sum(len(row.ids) for row in mine), time.monotonic() - started
        return StepFigures(self.steps, found[0], norm, entropy, lr, total, trained, len(mine), held, seconds)

    def total(self, examples: Sequence[Example], loss: Loss) -> float:
        """The loss summed over all examples, without a gradient."""
        sums = torch.zeros(1, device=self.scorer.device, dtype=torch.float64)
        with torch.no_grad():
            for row in self._rows(examples, 1.0):
                tokens = self._tokens(row)  # a rank without rows runs along: the others wait for it
                if row.names:
                    sums += loss(tokens).double()
        _sum_over_ranks(sums)
        return float(sums)

    def logprobs(self, examples: Sequence[Example]) -> list[list[float]]:
        """Each example's log-probabilities under the current weights, 0 outside its mask: the old or reference values
        of a later loss."""
        found: dict[str, list[float]] = {}
        with torch.no_grad():
            for row in self._rows(examples, 1.0):
                logprobs = self.scorer(row)[0]  # a rank without rows runs along
                values = row.values(logprobs.cpu()) if row.names else []
                found |= {name: part.tolist() for name, part in zip(row.names, values, strict=True)}
        if sharded():
            everywhere: list[dict[str, list[float]]] = [{}] * dist.get_world_size()
            dist.all_gather_object(everywhere, found)
            found = {name: values for each in everywhere for name, values in each.items()}
        return [found[e.name] + [0.0] * (len(e.ids) - len(found[e.name])) for e in examples]

    def _tokens(self, row: PackedRow) -> Tokens:
        logprobs, entropies = self.scorer(row)
        return Tokens(logprobs, entropies, row.mask, row.sequence, row.numbers)

    def _rows(self, examples: Sequence[Example], normaliser: float) -> list[PackedRow]:
        """This rank's rows. Every rank has equally many, since they wait for each other; an idle row has no names and
        an empty mask. Raises `TrainError`."""
        self._refuse(examples, normaliser)
        found = rows(examples, self.options.budget, self.scorer.device, share=self.scorer.shares)
        if not sharded():
            return found
        count, rank = dist.get_world_size(), dist.get_rank()
        first = found[0]
        idle = PackedRow((), first.layout, first.ids, first.positions, first.sequence, torch.zeros_like(first.mask), {})
        return [*found, *[idle] * (-len(found) % count)][rank::count]

    def _refuse(self, examples: Sequence[Example], normaliser: float) -> None:
        if not 0 < normaliser < math.inf:
            raise TrainError(f"a batch's normaliser must be above 0, not {normaliser}")
        if not any(example.trained for example in examples):
            raise TrainError("no token of the batch is trained on")
        if len({example.name for example in examples}) < len(examples):
            raise TrainError("two examples of the batch have one name")
        check_readable(examples, self.scorer.vocabulary, self.scorer.context)

    def _update(self, loss: float, examples: Sequence[Example]) -> float:
        """Clip and step; the norm of the gradient. Raises `StepRefused`, with the gradient forgotten."""
        parameters = [parameter for parameter in self.scorer.parameters() if parameter.grad is not None]
        total = get_total_norm([parameter.grad for parameter in parameters])
        norm = float(total.full_tensor() if isinstance(total, DTensor) else total)
        if not (math.isfinite(loss) and math.isfinite(norm)):
            self.optimizer.zero_grad()
            raise self._refusal(loss, norm, examples)
        clip_grads_with_norm_(parameters, self.options.clip, torch.tensor(norm, device=self.scorer.device))
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.steps += 1
        return norm

    def _refusal(self, loss: float, norm: float, examples: Sequence[Example]) -> StepRefused:
        path, kept = self.options.refused / f"step-{self.steps + 1}.json", "The batch is in"
        if first_rank():
            plain = [{**asdict(e), "ids": list(e.ids), "mask": list(e.mask)} for e in examples]
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.unlink(missing_ok=True)
                with path.open("x") as file:  # a link in a folder that somebody shared is not written through
                    json.dump({"loss": loss, "gradient": norm, "examples": plain}, file, default=list)
            except OSError as error:
                kept = f"The batch is lost ({error.strerror}): it could not be written to"
        return StepRefused(
            f"step {self.steps + 1} was not taken: its loss is {loss}, the norm of its gradient {norm}",
            f"The weights are as before. {kept} {path}.",
        )


def trained(scorer: Scorer) -> list[Tensor]:
    """The parameters that are trained: all, or the adapters'."""
    return [parameter for parameter in scorer.parameters() if parameter.requires_grad]


def _sum_over_ranks(values: Tensor) -> None:
    if sharded():
        dist.all_reduce(values)
