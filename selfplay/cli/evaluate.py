"""`selfplay eval`: how good a policy is at the bugs of a run, or the injector that made them; with intervals and
comparisons."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from selfplay.cli.app import app, resumable
from selfplay.cli.conflicts import refuse
from selfplay.cli.isolation import ImageOption, RuntimeOption, SandboxOption, opened
from selfplay.cli.output import print_either
from selfplay.cli.policy import ApiKeyEnv, BaseUrl, PolicyOption, player_options
from selfplay.cli.trust import TrustOption, trusted

if TYPE_CHECKING:
    from selfplay.rl.credit.rules import RoleName


@app.command("eval")
def evaluate(
    run_dir: Annotated[Path, typer.Argument(help="A run's folder from `selfplay curriculum` or `import`.")],
    policy: Annotated[str, typer.Option(help="Who solves, as in `selfplay solve`.")] = "scripted",
    attempts: Annotated[int, typer.Option(min=1, help="Attempts per bug; missing ones are made.")] = 4,
    role: Annotated[str, typer.Option(help="Who is evaluated: solver, or the injector that made the bugs.")] = "solver",
    against: Annotated[
        str | None,
        typer.Option(
            help="Compare with the attempts filed under this name; for an injector, with the run in this folder."
        ),
    ] = None,
    stored: Annotated[bool, typer.Option("--stored", help="Make no attempt: evaluate the stored ones.")] = False,
    base_url: BaseUrl = None,
    api_key_env: ApiKeyEnv = None,
    option: PolicyOption = None,
    name: Annotated[str | None, typer.Option(help="The name under which the attempts are filed.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Attempts at a time; one per core if not given.")] = None,
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    trust: TrustOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the evaluation as JSON.")] = False,
) -> None:
    """pass@1 and pass@k of a policy at every bug of a run, with intervals, by strategy, repository and order. With
    --role injector: the valid share, reward and diversity of the run's injector, with that policy as its solver. The
    same command gives the same table."""
    refuse(role not in ("injector", "solver"), "--role", "is injector or solver")
    for flag, given in (("--workers", workers), ("--sandbox", sandbox != "bubblewrap"), ("--trust", trust)):
        refuse(stored and given, flag, "makes no sense with --stored, which runs nothing")
    from selfplay.commands.evaluate import EvalOrder, run_eval
    from selfplay.commands.solve import SolveOrder
    from selfplay.report.evaluation import evaluation_page
    from selfplay.report.progress import LiveWatcher

    options = player_options(policy, base_url, api_key_env, option, plays=not stored)
    allowed = not stored and trusted(run_dir, trust)
    solve = SolveOrder(
        run_dir, attempts, policy, workers=workers, options=options, name=name, trust=allowed,
    )  # fmt: skip
    with resumable(), LiveWatcher() as watcher:
        backend = None if stored else opened(sandbox, image, runtime)
        wanted = EvalOrder(solve, stored, against, cast("RoleName", role))
        found = run_eval(wanted, backend, watcher)
    print_either(as_json, found.to_json(), lambda: evaluation_page(found))
