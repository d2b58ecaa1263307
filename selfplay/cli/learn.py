"""`selfplay learn`: one update of a model from the stored episodes of runs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from selfplay.cli.app import app
from selfplay.cli.conflicts import refuse
from selfplay.cli.credit import Planned, RecipeOption, Runs, Whose, print_credit
from selfplay.cli.output import print_json, print_line
from selfplay.cli.policy import policy_options
from selfplay.cli.weak import WeakOption, weak_chosen
from selfplay.exit_codes import INTERRUPTED

if TYPE_CHECKING:
    from selfplay.commands.learn import LearnSummary
    from selfplay.update.batch.figures import RoleFigures

Out = Annotated[
    Path | None,
    typer.Option(help="The folder to write, for --policy vllm:OUT or transformers:OUT (default: runs/RUN-learn)."),
]
Version = Annotated[
    int | None, typer.Option(min=0, help="The version of the model to train; by default the newest that sampled.")
]


@app.command()
def learn(
    runs: Runs,
    model: Annotated[str, typer.Option(help="The model that played: a folder or hub name.")],
    out: Out = None,
    policy: Whose = None,
    attempts: Planned = 0,
    option: RecipeOption = None,
    version: Version = None,
    weak: WeakOption = "refuse",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show the table of `credit`, with why episodes give no gradient.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary, or the credit, as JSON.")] = False,
) -> None:
    """Make one update of a model from the episodes of both roles: credit, filters, loss, step, weights."""
    refuse(out is not None and dry_run, "--out", "makes no sense with --dry-run, which writes nothing")
    from selfplay.commands import learn as command
    from selfplay.commands.credit import CreditOrder
    from selfplay.commands.default_out import made_of
    from selfplay.report.progress import LiveWatcher
    from selfplay.update.recipe import recipe_of

    recipe = recipe_of(policy_options(None, None, option))
    wanted = CreditOrder(tuple(runs), policy, attempts, weak_chosen(weak), version, recipe)
    order = command.LearnOrder(wanted, model, out or made_of(runs[0], "learn"))
    with LiveWatcher() as watcher:
        if dry_run:
            found = command.dry_run(order, watcher)
        else:
            try:
                summary = command.learn(order, watcher)
            except KeyboardInterrupt:
                watcher.say("interrupted; nothing was written, the same command begins again")
                raise typer.Exit(INTERRUPTED) from None
    if dry_run:
        print_credit(found, as_json)
    elif as_json:
        print_json(summary)
    else:
        for line in told(summary, order.out):
            print_line(line)


def told(summary: "LearnSummary", out: Path) -> list[str]:
    """The summary in lines."""
    lines = [_rollouts(role, found) for role, found in summary["rollouts"].items()]
    for role, found in summary.get("tokens", {}).items():
        lines.append(
            f"{role}: {found['tokens']:.0f} tokens; ratio {found['ratio']:.4f} ({found['ratio_min']:.3f} to "
            f"{found['ratio_max']:.3f}), clipped {found['clipped']:.1%}, k3 {found['k3']:.2g}, "
            f"entropy {found['entropy']:.3f}"
        )
    if (step := summary["step"]) is not None:
        norm = f"loss {step['loss']:.4g}, gradient {step['gradient']:.4g}, learning rate {step['lr']:g}"
        lines.append(f"{norm}, {step['seconds']:.1f} s; the model is in {out}")
    return lines


def _rollouts(role: str, found: "RoleFigures") -> str:
    reward = found["reward"]
    said = (
        "" if reward is None else f"; rewards {reward['min']:+.2f} to {reward['max']:+.2f}, mean {reward['mean']:+.3f}"
    )
    return f"{role}: trained on {found['trained_on']} of {found['episodes']} episodes{said}"
