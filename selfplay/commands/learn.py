"""What `selfplay learn` does: the stored episodes of runs -> one update of a model, as a Hugging Face folder.

The folder appears whole or not at all; `learn.json` in it says what the update did. Nothing resumes: the same command
makes the same update again.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Protocol, cast

from selfplay.agent.chat_format import ChatFormat
from selfplay.artifact.hub_models import model_folder
from selfplay.artifact.model_folders import model_settings
from selfplay.artifact.reading import UntrustedDataError
from selfplay.commands.credit import CreditOrder, credited_runs, damages
from selfplay.commands.result_folder import finished, whole_folder
from selfplay.commands.sources import credited_sources, model_files
from selfplay.policies.tokenizer import imported, load_tokenizer
from selfplay.rl.credit.table import CREDIT_COLUMNS, credit_row
from selfplay.train.packing import check_readable
from selfplay.update.batch.crediting import Credited
from selfplay.update.batch.examples import examples
from selfplay.update.batch.figures import UpdateFigures
from selfplay.update.batch.summary import require_gradient
from selfplay.update.errors import LearningError
from selfplay.update.recipe import Recipe

SUMMARY = "learn.json"
AGAIN = "The same command makes the update again."


@dataclass(frozen=True)
class LearnOrder:
    """What the user asked for: `credit`: the episodes and the recipe; the rest: the model and the folder of the new
    one."""

    credit: CreditOrder
    model: str
    out: Path


class LearnFigures(UpdateFigures):
    """An update, and the wall seconds of loading, updating and writing."""

    seconds: float


class LearnSummary(LearnFigures):
    """The content of `learn.json`. `settings`: what fixed the result; `table`: the rows of `credit`."""

    settings: dict[str, Any]
    table: list[dict[str, str]]


class LearnWatcher(Protocol):
    """Receives the progress."""

    def say(self, line: str) -> None: ...
    def expect(self, total: int | None, doing: str) -> None: ...


def dry_run(order: LearnOrder, watcher: LearnWatcher) -> list[Credited]:
    """The episodes with their credit and filters. Nothing is trained or written, and only the model's settings and, for
    tapes, its tokenizer are loaded. Refuses the same episodes as `learn`."""
    vocabulary = vocabulary_of(order.model)
    rollouts = credited_runs(order.credit, watcher.say, vocabulary, _chat(order.model))
    check_readable(examples(rollouts, order.credit.recipe), vocabulary, _context_of(order.model))
    return rollouts


def learn(order: LearnOrder, watcher: LearnWatcher) -> LearnSummary:
    """Make the update, write the model, and return the summary. A finished update is not made again.

    Raises `SelfplayError` for what the user can mend."""
    settings = _settings(order)
    done = _finished(order, settings)
    if done is not None:
        watcher.say(f"{order.out} holds the result of this update already")
        return done
    for module in ("torch", "transformers", "safetensors"):
        imported(module, "train")
    rollouts = credited_runs(order.credit, watcher.say, vocabulary_of(order.model), _chat(order.model))
    for line in damages(rollouts):
        watcher.say(f"a tape that cannot be used: {line}")
    require_gradient(rollouts)
    from selfplay.commands.learn_update import updated

    with whole_folder(order.out, LearningError, AGAIN) as made:
        figures = updated(order, rollouts, made, watcher)
        summary: LearnSummary = {"settings": settings, **figures, "table": _table(rollouts)}
        (made / SUMMARY).write_text(json.dumps(summary, indent=2) + "\n")
    return summary


def vocabulary_of(model: str) -> int:
    """The size of a model's vocabulary from its settings, which are fetched for a hub model. Raises `LearningError`."""
    try:
        settings = model_settings(model_folder(model, weights=False))
        return int(settings["vocab_size"] if "vocab_size" in settings else settings["text_config"]["vocab_size"])
    except (OSError, UntrustedDataError, ValueError, KeyError, TypeError) as error:
        raise LearningError(
            f"{model} is not a model: {str(error)[:300]}", "Name a folder with a config.json."
        ) from error


def _context_of(model: str) -> int:
    """The model's context in tokens from its settings, which `vocabulary_of` has checked."""
    said = model_settings(model_folder(model, weights=False)).get("max_position_embeddings")
    return said if isinstance(said, int) and said > 0 else sys.maxsize


def _chat(model: str) -> Callable[[], ChatFormat]:
    """The model's chat format, made when the first tape is compared with it."""
    return cache(lambda: ChatFormat(load_tokenizer(model)))


def _table(rollouts: Sequence[Credited]) -> list[dict[str, str]]:
    return [dict(zip(CREDIT_COLUMNS, credit_row(one.credit), strict=True)) for one in rollouts]


def _settings(order: LearnOrder) -> dict[str, Any]:
    """The settings that fix the result, as plain values: the order, and digests of the episodes and the model's
    files."""
    credit, found = order.credit, {**asdict(order.credit), "model": order.model}
    found["episodes"] = credited_sources(credit.runs, credit.policy, credit.weak)
    found["model_files"] = model_files(order.model)
    plain: dict[str, Any] = json.loads(json.dumps(found, default=str))
    return plain


def _finished(order: LearnOrder, settings: Mapping[str, Any]) -> LearnSummary | None:
    """The summary of exactly this update, if it was made. Raises `LearningError` if `out` has anything else."""
    default = {"recipe": json.loads(json.dumps(asdict(Recipe())))}
    found = finished(order.out / SUMMARY, settings, "update", LearningError, default)
    if found is None and order.out.exists() and (not order.out.is_dir() or any(order.out.iterdir())):
        raise LearningError(f"{order.out} exists and is not the result of an update", "Give another --out.")
    return cast(LearnSummary | None, found)
