"""`selfplay sft`: the cold start of a model."""

from pathlib import Path
from typing import Annotated, Any

import typer

from selfplay.cli.app import app
from selfplay.cli.conflicts import refuse
from selfplay.cli.output import print_json, print_line
from selfplay.exit_codes import INTERRUPTED

Out = Annotated[
    Path | None,
    typer.Option(help="The folder to write, for --policy vllm:OUT or transformers:OUT (default: runs/RUN-sft)."),
]
Strict = Annotated[bool, typer.Option("--strict", help="Only episodes that submitted, without a malformed call.")]
Render = Annotated[
    bool, typer.Option("--render", help="Render episodes of another model's tokens in this model's template.")
]
Repeats = Annotated[
    bool, typer.Option("--repeats", help="Keep duplicate lessons, such as the first stage of each bug.")
]
Scripted = Annotated[
    bool, typer.Option("--scripted", help="Scripts' own episodes too: long programs, poor examples for a model.")
]
ObservationChars = Annotated[
    int, typer.Option(min=100, help="The most characters of an observation in a script's episode.")
]
Schedule = Annotated[str, typer.Option(help="The learning rate: constant, or cosine (falls to 0 at the last step).")]
KeepActivations = Annotated[
    bool, typer.Option("--keep-activations", help="Faster, and takes more memory: about 1.4 MB a token for 135M.")
]
Lora = Annotated[
    int | None, typer.Option(min=1, help="Train only adapters of this rank; OUT is the model with them added.")
]


@app.command()
def sft(
    context: typer.Context,
    runs: Annotated[list[Path], typer.Argument(help="Folders of runs, of any policy.")],
    model: Annotated[str, typer.Option(help="A model's folder or hub name.")],
    out: Out = None,
    role: Annotated[str, typer.Option(help="injector, solver or both.")] = "both",
    strict: Strict = False,
    render: Render = False,
    repeats: Repeats = False,
    scripted: Scripted = False,
    observation_chars: ObservationChars = 16_000,
    budget: Annotated[int, typer.Option(min=2, help="Tokens of a packed row, and of the longest sequence.")] = 8192,
    too_long: Annotated[str, typer.Option(help="Longer sequences: refuse, cut (keep the beginning), leave-out.")] = (
        "refuse"
    ),
    held_out: Annotated[float, typer.Option(min=0, max=0.9, help="Share of bugs that only measure the loss.")] = 0.1,
    epochs: Annotated[int, typer.Option(min=1)] = 3,
    batch: Annotated[int, typer.Option(min=1, help="Sequences of a step.")] = 8,
    patience: Annotated[int, typer.Option(min=1, help="Epochs without a lower held-out loss before it stops.")] = 1,
    lr: Annotated[float, typer.Option(min=0, help="Learning rate.")] = 1e-5,
    warmup: Annotated[int, typer.Option(min=0, help="Steps until the learning rate is reached.")] = 5,
    schedule: Schedule = "constant",
    seed: Annotated[int, typer.Option(help="Fixes the order and which bugs are held out.")] = 0,
    precision: Annotated[str, typer.Option(help="Precision of the computation: bf16 or fp32.")] = "bf16",
    keep_activations: KeepActivations = False,
    lora: Lora = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Train a model on the successful episodes of runs: a cold start. It resumes."""
    refuse(too_long not in ("refuse", "cut", "leave-out"), "--too-long", "is refuse, cut or leave-out")
    refuse(schedule not in ("constant", "cosine"), "--schedule", "is constant or cosine")
    refuse(precision not in ("bf16", "fp32"), "--precision", "is bf16 or fp32")
    how = {name: value for name, value in context.params.items() if name not in ("runs", "model", "out", "as_json")}
    from selfplay.commands.default_out import made_of

    out = out or made_of(runs[0], "sft")
    summary = trained(tuple(runs), model, out, how)
    if as_json:
        print_json(summary)
        return
    for line in told(summary, out):
        print_line(line)


def trained(runs: tuple[Path, ...], model: str, out: Path, how: dict[str, Any]) -> dict[str, Any]:
    """The summary of the training that these options ask for."""
    from selfplay.commands.sft import SftOrder
    from selfplay.commands.sft import sft as run
    from selfplay.report.progress import LiveWatcher

    with LiveWatcher() as watcher:
        try:
            return run(SftOrder(runs, model, out, **how), watcher)
        except KeyboardInterrupt:
            watcher.say("interrupted; the same command resumes")
            raise typer.Exit(INTERRUPTED) from None


def told(summary: dict[str, Any], out: Path) -> list[str]:
    """The summary in lines."""
    training, held = summary["training"], summary["held_out"]
    loss, lessons = summary["held_out_loss"], summary["lessons"]
    kinds = ("injector", "solver", "taped", "rendered")
    lines = [
        f"{training['examples']} examples, {training['trained']} of {training['tokens']} tokens trained on; "
        + ", ".join(f"{name} {lessons.get(name, 0)}" for name in kinds)
    ]
    lines += [f"left out, {name}: {number}" for name, number in lessons.items() if name not in kinds]
    if loss["before"] is not None:
        verdict = "" if loss["after"] < loss["before"] else ": NOT lower, the initial model is better"
        lines.append(
            f"held-out loss ({held['examples']} examples): {loss['before']:.4f} before, {loss['after']:.4f} "
            f"after epoch {summary['best_epoch']}{verdict}"
        )
    return [*lines, f"stopped {summary['stopped']}; the model is in {out}"]
