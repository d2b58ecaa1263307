"""`selfplay eval`: how good a policy is at the bugs of a run, with intervals, and beside another policy."""

from pathlib import Path
from typing import Annotated

import typer

from selfplay.cli.app import app, resumable
from selfplay.cli.conflicts import refuse_policy
from selfplay.cli.isolation import ImageOption, RuntimeOption, SandboxOption, opened
from selfplay.cli.output import print_either
from selfplay.cli.policy import ApiKeyEnv, BaseUrl, PolicyOption, policy_options
from selfplay.cli.trust import TrustOption, trusted


@app.command("eval")
def evaluate(
    run_dir: Annotated[Path, typer.Argument(help="A run's folder, as `selfplay curriculum` left it.")],
    policy: Annotated[str, typer.Option(help="Who solves, as in `selfplay solve`.")] = "scripted",
    attempts: Annotated[int, typer.Option(min=1, help="Attempts per bug; those that are missing are made.")] = 4,
    against: Annotated[
        str | None, typer.Option(help="Compare with the stored attempts filed under this name, at the same bugs.")
    ] = None,
    stored: Annotated[bool, typer.Option("--stored", help="Make no attempt: evaluate those that are stored.")] = False,
    base_url: BaseUrl = None,
    api_key_env: ApiKeyEnv = None,
    option: PolicyOption = None,
    name: Annotated[str | None, typer.Option(help="The name that the attempts are filed under.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Attempts at a time; one per core if not given.")] = None,
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    trust: TrustOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the evaluation as JSON.")] = False,
) -> None:
    """pass@1 and pass@k of a policy at every bug of a run, with intervals, by strategy, repository and order. The same
    command gives the same table."""
    refuse_policy(policy, base_url, api_key_env, option)
    from selfplay.commands.evaluate import EvalOrder, run_eval
    from selfplay.commands.solve import SolveOrder
    from selfplay.report.evaluation import evaluation_page
    from selfplay.report.progress import LiveWatcher

    allowed = not stored and trusted(run_dir, trust)
    solve = SolveOrder(
        run_dir, attempts, policy, workers=workers, options=policy_options(base_url, api_key_env, option), name=name,
        trust=allowed,
    )  # fmt: skip
    with resumable(), LiveWatcher() as watcher:
        backend = None if stored else opened(sandbox, image, runtime)
        found = run_eval(EvalOrder(solve, stored, against), backend, watcher)
    print_either(as_json, found.to_json(), lambda: evaluation_page(found))
