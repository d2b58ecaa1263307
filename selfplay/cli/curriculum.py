"""`selfplay curriculum`: from a source to a run's folder."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from selfplay.cli.app import app, resumable
from selfplay.cli.conflicts import WITHOUT_OPTIONS, refuse
from selfplay.cli.isolation import AllowHostOption, ImageOption, RuntimeOption, SandboxOption, opened
from selfplay.cli.output import print_run
from selfplay.cli.policy import ApiKeyEnv, BaseUrl, PolicyName, PolicyOption, player_options

if TYPE_CHECKING:
    from selfplay.commands.curricula import Make
    from selfplay.commands.order import Order
    from selfplay.report.progress import LiveWatcher

Source = Annotated[
    str, typer.Argument(help="A path, a git URL[@REV], pypi:NAME[==VERSION], or a text file with one on each line.")
]
RayAddress = Annotated[
    str | None,
    typer.Option("--ray-address", help="For a list: use all nodes of this Ray cluster (HOST:PORT, or auto)."),
]
Out = Annotated[Path | None, typer.Option(help="The run's folder (default: runs/NAME); the same folder again resumes.")]
Strategy = Annotated[str, typer.Option(help="removal, history, direct, feature, or mix (removal and history).")]
Releases = Annotated[
    int | None,
    typer.Option(min=0, help="For a pypi: source: how many earlier releases become its history; 12 if not given."),
]
Attempts = Annotated[int | None, typer.Option(min=1, help="With --order 2: attempts per bug, 8 if not given.")]
Believable = Annotated[
    bool | None,
    typer.Option(
        "--believable/--any-valid",
        help="Refuse valid bugs that a linter or a glance gives away; by default on for scripts, off for models.",
    ),
]
Group = Annotated[int, typer.Option(min=1, help="Consecutive injector episodes with the same prompt: a group.")]
PublicShare = Annotated[float, typer.Option(min=0.01, max=1, help="Share of the failing tests that solvers are shown.")]


@app.command()
def curriculum(
    source: Source,
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
    believable: Believable = None,
    patience: Annotated[int, typer.Option(min=1, help="Stop after this many episodes in a row without a bug.")] = 40,
    minutes: Annotated[float | None, typer.Option(help="Begin no further episode of a repository after this.")] = None,
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
    address: RayAddress = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Make a curriculum of verified bugs from a repository, or from every one in a list of them."""
    from selfplay.commands.default_out import default_out
    from selfplay.commands.order import Order
    from selfplay.repository.fetching.source import is_list
    from selfplay.rollout.injector import mix_named
    from selfplay.validators import Thresholds

    listed = is_list(source)
    refuse(_without_releases(source, listed, releases), "--releases", "needs a source pypi:NAME")
    _refuse_combinations(order, attempts, policy, strategy)
    _refuse_of_a_list(listed, setup, test, address, order, policy)
    wanted = Order(
        source, out or default_out(source), bugs, mix_named(strategy), seed, workers,
        12 if releases is None else releases, setup, test, Thresholds(min_passing, min_files, min_failing),
        order=2 if order == 2 else 1, attempts=attempts or 8, public_share=public_share, policy=policy,
        options=player_options(policy, base_url, api_key_env, option), patience=patience, group=group,
        believable=believable, allow_hosts=tuple(allow_host or ()), minutes=minutes,
    )  # fmt: skip
    raise typer.Exit(_made(wanted, listed, (sandbox, image, runtime), address, not out, as_json))


def _without_releases(source: str, listed: bool, releases: int | None) -> bool:
    return releases is not None and not (listed or source.startswith("pypi:"))


def _refuse_combinations(order: int, attempts: int | None, policy: str, strategy: str) -> None:
    solver = f"{policy} only solves: it goes with `selfplay solve`, and scripted or a model makes bugs"
    refuse(policy in ("search", "naive"), "--policy", solver)
    refuse(attempts and order == 1, "--attempts", "needs --order 2, which attempts the bugs")
    refuse(strategy == "feature" and ":" not in policy, "--strategy", f"the policy {policy} adds no features")


def _refuse_of_a_list(
    listed: bool, setup: str | None, test: str | None, address: str | None, order: int, policy: str
) -> None:
    for name, given in (("--setup", setup), ("--test", test)):
        refuse(listed and given, name, f"differs by repository: write {name[2:]}='...' behind its source in the list")
    refuse(address and not listed, "--ray-address", "needs a list of sources")
    refuse(address and order == 2, "--order", "a cluster makes no attempts: `selfplay solve` makes them later")
    in_process = policy.startswith(("vllm:", "transformers:"))
    refuse(address and in_process, "--policy", "every host would open the model: serve it, and use openai:MODEL")


def _made(
    order: "Order",
    listed: bool,
    isolation: tuple[str, str | None, str | None],
    address: str | None,
    unnamed: bool,
    as_json: bool,
) -> int:
    """Make the bugs, with progress shown meanwhile, and print the summary. Returns the exit code: 1 if there are fewer
    bugs than requested."""
    from selfplay.commands.curricula import run_list
    from selfplay.commands.curriculum import run_curriculum
    from selfplay.commands.source_list import read_list
    from selfplay.report.progress import LiveWatcher

    orders = read_list(Path(order.source), order) if listed else []
    with resumable(), LiveWatcher() as watcher:
        if unnamed:
            watcher.say(f"the run's folder is {order.out} (--out names another)")
        if order.group > 1 and order.policy in WITHOUT_OPTIONS:
            watcher.say("the scripted injector has no prompt: a group of --group shares its strategy alone")
        if listed:
            summary = run_list(order, orders, _maker(order, isolation, address, watcher), watcher.say)
        else:
            summary = run_curriculum(order, opened(*isolation), watcher)
    print_run(summary, order.out, as_json)
    return int(bool(summary["lacking"]) if listed else summary["figures"]["bugs"] < order.bugs)


def _maker(
    order: "Order", isolation: tuple[str, str | None, str | None], address: str | None, watcher: "LiveWatcher"
) -> "Make":
    """What makes the bugs of a list: this process, or a cluster."""
    from selfplay.commands.curricula import here

    if address is None:
        return here(order, opened(*isolation), watcher)
    from selfplay.policies.tokenizer import imported
    from selfplay.sandbox import Isolation

    imported("ray", "cluster")
    from selfplay.commands.curricula_cluster import on_ray

    return on_ray(order, Isolation(*isolation), address, watcher)
