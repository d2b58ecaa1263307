"""`selfplay trajectories`: played episodes as training data for models."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from selfplay.cli.app import app
from selfplay.cli.conflicts import refuse
from selfplay.cli.isolation import ImageOption, RuntimeOption, SandboxOption, opened
from selfplay.cli.output import print_json, print_line
from selfplay.cli.trust import TrustOption, trusted
from selfplay.exit_codes import INTERRUPTED
from selfplay.formatting import count, shortened

trajectories = typer.Typer(help="What was played, for others to learn from.", no_args_is_help=True)
app.add_typer(trajectories, name="trajectories")


@trajectories.callback()
def _trajectories() -> None:
    """What was played, for others to learn from."""


@trajectories.command()
def demonstrate(
    run_dir: Annotated[Path, typer.Argument(help="A run's folder.")],
    workers: Annotated[int | None, typer.Option(min=1, help="Bugs at a time (default: one per core).")] = None,
    short: Annotated[
        bool, typer.Option("--short", help="Repairs without running a test: for very small contexts.")
    ] = False,
    role: Annotated[str, typer.Option(help="injector, solver or both.")] = "both",
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    trust: TrustOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result of each bug as JSON.")] = False,
) -> None:
    """Plant each bug of a run again and repair it: short lessons, which `export` then writes. It resumes."""
    from selfplay.commands.demonstrate import demonstrate as show
    from selfplay.curriculum import open_existing
    from selfplay.report.progress import LiveWatcher
    from selfplay.rollout.scheduler import one_per_core

    found, trust = [], trusted(run_dir, trust)
    with open_existing(run_dir) as pool, LiveWatcher() as watcher:
        watcher.expect(pool.episodes.count(), "demonstrating")
        try:
            backend = opened(sandbox, image, runtime)
            for shown in show(pool, backend, one_per_core(workers), trust=trust, short=short, role=role):
                found.append(shown)
                watcher.done(f"{shown.bug}: {shown.why or 'shown'}")
        except KeyboardInterrupt:
            watcher.say("interrupted; the same command resumes")
            raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json({shown.bug: shown.why for shown in sorted(found, key=lambda one: one.bug)})
    else:
        print_line(f"{sum(not shown.why for shown in found)} of {count(len(found), 'bug')} demonstrated")


@trajectories.command()
def export(
    run_dir: Annotated[Path, typer.Argument(help="A run's folder.")],
    out: Annotated[
        Path | None,
        typer.Option(
            help="The file to write: .jsonl, or .jsonl.zst, packed with Zstandard (default: runs/RUN-lessons.jsonl)."
        ),
    ] = None,
    role: Annotated[str, typer.Option(help="injector, solver or both.")] = "both",
    tokenizer: Annotated[
        str | None, typer.Option(help="A model's folder or hub name: adds exact input_ids and labels.")
    ] = None,
    observation_chars: Annotated[
        int, typer.Option(min=100, help="The most characters of an observation in a script's episode.")
    ] = 16_000,
    most_tokens: Annotated[int | None, typer.Option(min=1, help="Leave out longer examples.")] = None,
    scripted: Annotated[
        bool, typer.Option("--scripted", help="Scripts' own episodes too: long programs, poor examples for a model.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Write demonstrations of a run and its models' successes as supervised examples: messages, and with --tokenizer
    the columns of TRL and axolotl (docs/lessons.md)."""
    refuse(most_tokens and not tokenizer, "--most-tokens", "needs --tokenizer, whose tokens it counts")
    from selfplay.commands.default_out import made_of
    from selfplay.commands.lessons import LessonOrder, write_lessons
    from selfplay.report.progress import LiveWatcher

    out = out or made_of(run_dir, "lessons.jsonl")
    with LiveWatcher(f"writing {shortened(out.name)}"):
        counts = write_lessons(LessonOrder(run_dir, out, role, tokenizer, observation_chars, most_tokens, scripted))
    if as_json:
        print_json(counts)
        return
    told = Counter(counts)
    solver = count(told["solver"], "solver example")
    print_line(f"{count(told['injector'], 'injector example')} and {solver} in {out}")
    for reason in sorted(set(told) - {"injector", "solver"}):
        print_line(f"left out, {reason}: {told[reason]}")
