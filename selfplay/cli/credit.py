"""`selfplay credit`: what each episode of a run has earned, before anything is trained."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from selfplay.cli.app import app
from selfplay.cli.output import print_either
from selfplay.cli.policy import policy_options
from selfplay.cli.weak import WeakOption, weak_chosen

if TYPE_CHECKING:
    from selfplay.update.batch.crediting import Credited

Runs = Annotated[list[Path], typer.Argument(help="Folders of runs.")]
Whose = Annotated[
    str | None, typer.Option(help="Whose attempts count; by default those of the policy that planted the bugs.")
]
Planned = Annotated[int, typer.Option(min=0, help="Attempts planned for each bug; 0: as the run recorded.")]
RecipeOption = Annotated[
    list[str] | None,
    typer.Option("--option", help="NAME=VALUE: a choice of the recipe (docs/training.md); a wrong name lists them."),
]


@app.command()
def credit(
    runs: Runs,
    policy: Whose = None,
    attempts: Planned = 0,
    option: RecipeOption = None,
    weak: WeakOption = "refuse",
    as_json: Annotated[bool, typer.Option("--json", help="Print the credit as JSON.")] = False,
) -> None:
    """Reward and advantage of every episode of both roles, and why some give no gradient (docs/credit.md). Nothing is
    trained or changed."""
    from selfplay.commands.credit import CreditOrder, credited_runs
    from selfplay.curriculum.reading_bounds import bounded_reading
    from selfplay.report.progress import LiveWatcher
    from selfplay.update.recipe import recipe_of

    order = CreditOrder(
        tuple(runs), policy, attempts, weak_chosen(weak), recipe=recipe_of(policy_options(None, None, option))
    )

    def credit_them() -> None:
        with LiveWatcher() as watcher:
            found = credited_runs(order, watcher.say)
        print_credit(found, as_json)

    bounded_reading(runs, credit_them)


def print_credit(found: "Sequence[Credited]", as_json: bool) -> None:
    """The table of a batch, with the faults of tapes that cannot be used."""
    from selfplay.commands.credit import damages
    from selfplay.report.credit import credit_page

    credits = [one.credit for one in found]
    print_either(as_json, [asdict(earned) for earned in credits], lambda: credit_page(credits, damages(found)))
