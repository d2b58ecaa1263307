"""What `selfplay sft` does: train a model to imitate lessons of runs, and write it as a Hugging Face folder.

The folder has the model at the end of the run, and `sft.json` with its figures. Until then it has `checkpoints/`, from
which the same command resumes.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from selfplay.agent.chat_format import ChatFormat
from selfplay.artifact.files import write_atomically
from selfplay.artifact.written_folders import refuse_strange_below
from selfplay.commands.asked_roles import BOTH, asked_roles
from selfplay.commands.result_folder import finished, written
from selfplay.commands.sources import lesson_sources, model_files
from selfplay.commands.training.shared_checkpoints import refuse_large_descriptions
from selfplay.curriculum import read_pool
from selfplay.curriculum.trust import remember_run
from selfplay.formatting import count
from selfplay.owned_folders import refuse_place_of_another
from selfplay.policies.tokenizer import imported, load_tokenizer
from selfplay.sft.sequences import Lecture, LessonsWanted, lectures
from selfplay.train.errors import TrainError
from selfplay.train.packing import Example, TooLong, fitting

SUMMARY = "sft.json"
CHECKPOINTS = "checkpoints"


@dataclass(frozen=True)
class SftOrder:
    """What the user asked for. `budget`: tokens of a row, and of the longest sequence; `held_out`: the share of bugs
    whose lessons only measure the loss; `batch`: sequences of a step; `schedule`: `cosine` lets the learning rate fall
    to 0 at the last step; `strict`, `render`, `repeats` and `scripted`: see `LessonsWanted`; `keep_activations`:
    faster, for several times the memory of activations; `lora`: the rank of adapters, which are trained instead of the
    weights."""

    runs: tuple[Path, ...]
    model: str
    out: Path
    role: str = BOTH
    strict: bool = False
    render: bool = False
    repeats: bool = False
    scripted: bool = False
    observation_chars: int = 16_000
    budget: int = 8192
    too_long: TooLong = "refuse"
    held_out: float = 0.1
    epochs: int = 3
    batch: int = 8
    patience: int = 1
    lr: float = 1e-5
    warmup: int = 5
    schedule: Literal["constant", "cosine"] = "constant"
    seed: int = 0
    precision: Literal["fp32", "bf16"] = "bf16"
    keep_activations: bool = False
    lora: int | None = None
    save_every: int = 50


class SftWatcher(Protocol):
    """Receives the progress."""

    def say(self, line: str) -> None: ...
    def expect(self, total: int | None, doing: str) -> None: ...
    def done(self, line: str) -> None: ...


def sft(order: SftOrder, watcher: SftWatcher) -> dict[str, Any]:
    """Train, write the model, and return the summary. A finished run is not repeated.

    Raises `SelfplayError` for errors that the user can mend."""
    with written(order.out, TrainError, "Give another --out."):
        refuse_place_of_another(order.out)
    refuse_strange_below(order.out)
    refuse_large_descriptions(order.out)
    settings = {**_settings(order), "episodes": lesson_sources(order.runs), "model_files": model_files(order.model)}
    done = finished(order.out / SUMMARY, settings, "run", TrainError)
    if done is not None:
        watcher.say(f"{order.out} holds the result of this run already")
        return done
    for module in ("torch", "transformers", "safetensors", *(["peft"] if order.lora else [])):
        imported(module, "train")
    watcher.say("reading lessons")
    found, counts = lessons_of(order)
    training, held_out = split(found, order)
    kind = {**_settings(order), "examples": _digest(training), "held_out": _digest(held_out)}
    told = {"lessons": dict(counts), "training": _amount(training), "held_out": _amount(held_out)}
    from selfplay.commands.sft_training import train

    if not order.out.exists():
        order.out.mkdir(parents=True)
        remember_run(order.out)
    result = train(order, training, held_out, kind, watcher)
    summary = {"settings": settings, **told, **result}
    write_atomically(order.out / SUMMARY, (json.dumps(summary, indent=2) + "\n").encode())
    return summary


def lessons_of(order: SftOrder) -> tuple[list[tuple[Lecture, Example]], Counter[str]]:
    """The lessons that fit, and the counts: per role, taped, rendered, and left out by reason."""
    roles = asked_roles(order.role)
    chat = ChatFormat(load_tokenizer(order.model))
    asked = (order.strict, order.render, order.observation_chars, order.repeats, order.scripted)
    wanted, counts = LessonsWanted(roles, *asked), Counter[str]()
    kept = []
    for run in order.runs:
        with read_pool(run) as pool:
            for lecture in lectures(pool, chat, wanted, counts):
                fit = fitting([_example(run, lecture)], order.budget, order.too_long)
                counts["longer than the budget"] += len(lecture.ids) > order.budget and not fit
                kept += [(lecture, example) for example in fit]
    counts.update(lecture.role for lecture, _ in kept)
    counts.update("taped" if lecture.taped else "rendered" for lecture, _ in kept)
    if not kept:
        left = ", ".join(f"{name}: {number}" for name, number in counts.items() if number)
        raise TrainError(
            f"no lesson to learn from in {', '.join(map(str, order.runs))}" + (f" ({left})" if left else ""),
            "A lesson is a demonstration (`trajectories demonstrate` makes them), or what a model planted or resolved.",
        )
    return kept, +counts


def _example(run: Path, lecture: Lecture) -> Example:
    return Example(f"{run}/{lecture.name}", lecture.ids, lecture.mask)


def split(found: Sequence[tuple[Lecture, Example]], order: SftOrder) -> tuple[list[Example], list[Example]]:
    """Training and held-out examples. Bugs are held out, not lessons: second-order bugs go with the bug they came from.
    The seed and the bugs' names decide which. Raises `TrainError` if there are too few bugs."""
    families = sorted({lecture.family for lecture, _ in found}, key=lambda name: _number(f"{order.seed}/{name}"))
    out = max(1, round(order.held_out * len(families))) if order.held_out else 0
    if out >= len(families):
        raise TrainError(
            f"lessons of {count(len(families), 'bug')}, of which {out} would be held out: none is left to learn from",
            "Give more runs, or --held-out 0 (then nothing tells when to stop).",
        )
    held = set(families[:out])
    training = [example for lecture, example in found if lecture.family not in held]
    return training, [example for lecture, example in found if lecture.family in held]


def _number(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _digest(examples: Sequence[Example]) -> str:
    """A digest of the examples: a run is resumed only with the same ones."""
    plain = [(list(example.ids), list(example.mask)) for example in examples]
    return _number(json.dumps(plain))[:16]


def _amount(examples: Sequence[Example]) -> dict[str, int]:
    return {
        "examples": len(examples),
        "tokens": sum(len(example.ids) for example in examples),
        "trained": sum(example.trained for example in examples),
    }


def _settings(order: SftOrder) -> dict[str, Any]:
    """The settings that fix the result, as plain values."""
    left_out = ("out", "save_every", "keep_activations")
    return {
        name: [str(run) for run in value] if name == "runs" else value
        for name, value in asdict(order).items()
        if name not in left_out
    }
