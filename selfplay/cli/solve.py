"""`selfplay solve`: attempts at the bugs of a run, and second-order bugs of those that failed."""

from pathlib import Path
from typing import Annotated

import typer

from selfplay.cli.app import app, resumable
from selfplay.cli.conflicts import CONTROLS, refuse
from selfplay.cli.isolation import ImageOption, RuntimeOption, SandboxOption, opened
from selfplay.cli.output import print_run
from selfplay.cli.policy import ApiKeyEnv, BaseUrl, PolicyOption, player_options
from selfplay.cli.trust import TrustOption, trusted
from selfplay.cli.weak import WeakOption, weak_chosen


@app.command()
def solve(
    run_dir: Annotated[Path, typer.Argument(help="A run's folder from `selfplay curriculum`.")],
    attempts: Annotated[int, typer.Option(min=1, help="Attempts per bug, including stored ones.")] = 8,
    policy: Annotated[
        str,
        typer.Option(
            help="Who solves: scripted, search, naive, openai:MODEL, vllm:PATH, transformers:PATH; or a control: "
            "gold, empty."
        ),
    ] = "scripted",
    base_url: BaseUrl = None,
    api_key_env: ApiKeyEnv = None,
    option: PolicyOption = None,
    name: Annotated[
        str | None,
        typer.Option(help="File the attempts under this name, so that one model may play with several settings."),
    ] = None,
    bug: Annotated[
        list[str] | None,
        typer.Option(help="Attempt only this bug: its id or a unique prefix. Repeatable."),
    ] = None,
    promote: Annotated[int, typer.Option(min=0, help="Make up to this many second-order bugs of each bug.")] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Attempts at a time; one per core if not given.")] = None,
    counterfactual: Annotated[bool, typer.Option(help="Also run the tests made impossible.")] = True,
    unauditable: Annotated[
        bool, typer.Option("--unauditable", help="Also attempt bugs whose worlds cannot be searched for the answer.")
    ] = False,
    weak: WeakOption = "count",
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    trust: TrustOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Attempt every bug of a run, or those that --bug names, and record its solve rate. The same command resumes."""
    _refuse_for_controls(policy, promote, name)
    from selfplay.commands.solve import SolveOrder, run_solve
    from selfplay.report.progress import LiveWatcher

    options = player_options(policy, base_url, api_key_env, option)
    order = SolveOrder(
        run_dir, attempts, policy, promote, workers, counterfactual, options, name, tuple(bug or ()),
        trusted(run_dir, trust), unauditable, weak_chosen(weak),
    )  # fmt: skip
    with resumable(), LiveWatcher() as watcher:
        summary = run_solve(order, opened(sandbox, image, runtime), watcher)
    print_run(summary, run_dir, as_json)


def _refuse_for_controls(policy: str, promote: int, name: str | None) -> None:
    refuse(promote and policy in CONTROLS, "--promote", f"{policy} is a control: its attempts do not become bugs")
    refuse(name and policy in CONTROLS, "--name", f"a control's attempts are always filed under {policy}")
    refuse(name in CONTROLS, "--name", f"{name} is the name of a control")
