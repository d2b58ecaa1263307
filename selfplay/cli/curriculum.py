"""`selfplay curriculum`: from a source to a run's folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from selfplay.cli.app import app, resumable
from selfplay.cli.conflicts import refuse, refuse_policy
from selfplay.cli.isolation import AllowHostOption, ImageOption, RuntimeOption, SandboxOption, opened
from selfplay.cli.output import print_run
from selfplay.cli.policy import ApiKeyEnv, BaseUrl, PolicyName, PolicyOption, policy_options

if TYPE_CHECKING:
    from selfplay.commands.curricula import Make
    from selfplay.commands.order import Order
    from selfplay.report.progress import LiveWatcher

Out = Annotated[Path | None, typer.Option(help="The run's folder (default: runs/NAME); the same folder again resumes.")]
Strategy = Annotated[str, typer.Option(help="removal, history, direct, feature, or mix (removal and history).")]
Releases = Annotated[
    int | None,
    typer.Option(min=0, help="Of a pypi: source: earlier releases that become its history, 12 if not given."),
]
Attempts = Annotated[int | None, typer.Option(min=1, help="With --order 2: attempts per bug, 8 if not given.")]
Group = Annotated[int, typer.Option(min=1, help="Episodes of the injector in a row that get one prompt: a group.")]
PublicShare = Annotated[float, typer.Option(min=0.01, max=1, help="Share of the failing tests that solvers are shown.")]


@app.command()
def curriculum(
    source: Annotated[
        str, typer.Argument(help="A path, a git URL[@REV], pypi:NAME[==VERSION], or a text file with one on each line.")
    ],
    out: Out = None,
    bugs: Annotated[int, typer.Option(min=1, help="How many verified bugs to make of each repository.")] = 10,
    strategy: Strategy = "mix",
    min_files: Annotated[int, typer.Option(min=1, help="Changed files per bug, at least.")] = 1,
    min_passing: Annotated[int, typer.Option(min=1, help="Tests that pass on the original, at least.")] = 5,
    min_failing: Annotated[int, typer.Option(min=1, help="Tests that fail under the bug, at least.")] = 1,
    seed: Annotated[int, typer.Option(help="Same seed, source and version: same curriculum.")] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Episodes at a time; one per core if not given.")] = None,
    releases: Releases = None,
    setup: Annotated[str | None, typer.Option(help="Build the environment with this command instead.")] = None,
    test: Annotated[str | None, typer.Option(help="Run the tests with this command instead.")] = None,
    allow_host: AllowHostOption = None,
    group: Group = 1,
    patience: Annotated[int, typer.Option(min=1, help="Stop after so many episodes in a row without a bug.")] = 40,
    policy: PolicyName = "scripted",
    base_url: BaseUrl = None,
    api_key_env: ApiKeyEnv = None,
    option: PolicyOption = None,
    order: Annotated[int, typer.Option(min=1, max=2, help="2: also solve them; failed attempts become bugs.")] = 1,
    attempts: Attempts = None,
    public_share: PublicShare = 1.0,
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    address: Annotated[
        str | None,
        typer.Option("--ray-address", help="A list: on all nodes of this Ray cluster (HOST:PORT, or auto)."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Make a curriculum of verified bugs from a repository, or from every one in a list of them."""
    from selfplay.repository.source import is_list

    listed = is_list(source)
    refuse(attempts and order == 1, "--attempts", "needs --order 2, which attempts the bugs")
    from_index = listed or source.startswith("pypi:")
    refuse(releases is not None and not from_index, "--releases", "needs a source pypi:NAME")
    for name, given in (("--setup", setup), ("--test", test)):
        refuse(listed and given, name, f"differs by repository: write {name[2:]}='...' behind the source in {source}")
    refuse(strategy == "feature" and ":" not in policy, "--strategy", f"the policy {policy} adds no features")
    refuse(address and not listed, "--ray-address", "needs a list of sources")
    refuse(address and order == 2, "--order", "attempts on a cluster are not there: `selfplay solve` makes them later")
    in_process = policy.startswith(("vllm:", "transformers:"))
    refuse(address and in_process, "--policy", "every host would open the model: serve it, and use openai:MODEL")
    refuse_policy(policy, base_url, api_key_env, option)
    from selfplay.commands.naming import default_out
    from selfplay.commands.order import Order
    from selfplay.rollout.injector import mix_named
    from selfplay.validators import Thresholds

    thresholds = Thresholds(min_passing_tests=min_passing, min_changed_files=min_files, min_failing_tests=min_failing)
    mix, options = mix_named(strategy), policy_options(base_url, api_key_env, option)
    wanted = Order(
        source, out or default_out(source), bugs, mix, seed, workers, 12 if releases is None else releases, setup, test,
        thresholds, order=2 if order == 2 else 1, attempts=attempts or 8, public_share=public_share,
        policy=policy, options=options, patience=patience, allow_hosts=tuple(allow_host or ()), group=group,
    )  # fmt: skip
    said = "" if out else f"the run's folder is {wanted.out} (--out names another)"
    summary = _made(wanted, listed, (sandbox, image, runtime), address, said)
    print_run(summary, wanted.out, as_json)
    lacking = summary["lacking"] if listed else summary["figures"]["bugs"] < bugs
    raise typer.Exit(1 if lacking else 0)


def _made(
    order: "Order", listed: bool, isolation: tuple[str, str | None, str | None], address: str | None, said: str
) -> dict[str, Any]:
    """The summary of the run, with progress shown meanwhile; `said` is printed first."""
    from selfplay.commands.curriculum import run_campaign
    from selfplay.commands.source_list import read_list
    from selfplay.report.progress import LiveWatcher

    orders = read_list(Path(order.source), order) if listed else []
    with resumable(), LiveWatcher() as watcher:
        if said:
            watcher.say(said)
        if listed:
            from selfplay.commands.curricula import run_list

            return run_list(order, orders, _maker(order, isolation, address, watcher))
        return run_campaign(order, opened(*isolation), watcher)


def _maker(
    order: "Order", isolation: tuple[str, str | None, str | None], address: str | None, watcher: "LiveWatcher"
) -> "Make":
    """Who makes the bugs of a list: this process, or a cluster."""
    from selfplay.commands.curricula import here

    if address is None:
        return here(order, opened(*isolation), watcher)
    from selfplay.policies.tokenizer import imported
    from selfplay.sandbox import Isolation

    imported("ray", "cluster")
    from selfplay.commands.curricula_cluster import on_ray

    return on_ray(order, Isolation(*isolation), address, watcher)
