"""`selfplay trajectories`: what was played, for others to learn from."""

import json
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from selfplay.cli.app import app

trajectories = typer.Typer(help="What was played, for others to learn from.", no_args_is_help=True)
app.add_typer(trajectories, name="trajectories")


@trajectories.callback()
def _trajectories() -> None:
    """What was played, for others to learn from."""


@trajectories.command()
def export(
    run_dir: Annotated[Path, typer.Argument(help="A run's folder.")],
    out: Annotated[Path, typer.Option(help="The file to write: .jsonl, or .jsonl.zst (packed with Zstandard).")],
    role: Annotated[str, typer.Option(help="injector, solver or both.")] = "both",
    tokenizer: Annotated[
        str | None, typer.Option(help="A model's folder or hub name: adds its exact token ids and a mask.")
    ] = None,
    observation_chars: Annotated[int, typer.Option(min=100, help="Of a script's episode: characters shown.")] = 16_000,
    most_tokens: Annotated[int | None, typer.Option(min=1, help="Leave longer examples out.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Successful episodes of a run as supervised examples: messages, and with --tokenizer ids and mask."""
    from selfplay.rollout.teaching import LessonOrder, write_lessons

    counts = write_lessons(LessonOrder(run_dir, out, role, tokenizer, observation_chars, most_tokens))
    if as_json:
        print(json.dumps(counts))
        return
    told = Counter(counts)
    print(f"{told['injector']} injector and {told['solver']} solver examples in {out}")
    for reason in sorted(set(told) - {"injector", "solver"}):
        print(f"left out, {reason}: {told[reason]}")
