"""`selfplay serve-env`: the two roles as environments for another trainer."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from selfplay.cli.app import app
from selfplay.cli.isolation import AllowHostOption, ImageOption, RuntimeOption, SandboxOption, opened


@app.command("serve-env")
def serve_env(
    source: Annotated[str, typer.Argument(help="A path, a git URL[@REV], or pypi:NAME[==VERSION].")],
    out: Annotated[
        Path | None, typer.Option(help="The run's folder (default: runs/NAME); its bugs are served.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="A port of this machine; 0: any free one.")] = 0,
    strategy: Annotated[
        str, typer.Option(help="The injector's: removal, history, direct, feature, or mix.")
    ] = "direct",
    seed: Annotated[int, typer.Option(help="Fixes the injector's prompts.")] = 0,
    setup: Annotated[str | None, typer.Option(help="Build the environment with this command instead.")] = None,
    test: Annotated[str | None, typer.Option(help="Run the tests with this command instead.")] = None,
    allow_host: AllowHostOption = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Tools and tests at a time; one per core if not given.")
    ] = None,
    prompts: Annotated[int, typer.Option(min=1, help="How many prompts the injector is offered.")] = 64,
    sessions: Annotated[int, typer.Option(min=1, help="Episodes at once, at most.")] = 64,
    silent: Annotated[
        float, typer.Option(min=1, help="Close a session after this many seconds without a request.")
    ] = 900,
    calls: Annotated[int, typer.Option(min=1, help="The most calls of an episode.")] = 128,
    seconds: Annotated[
        float, typer.Option(min=1, help="The most seconds of an episode, including the trainer's.")
    ] = 1800,
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
) -> None:
    """Serve both roles on this machine, for a trainer of your own (docs/environments.md), until Ctrl-C."""
    from selfplay.agent import EpisodeLimits
    from selfplay.commands.default_out import default_out
    from selfplay.commands.serve_env import ServeOrder, serve_environments
    from selfplay.report.progress import LiveWatcher
    from selfplay.rollout.injector import mix_named

    order = ServeOrder(
        source, out or default_out(source), port, mix_named(strategy), seed, setup, test, tuple(allow_host or ()),
        workers=workers, prompts=prompts, sessions=sessions, silent=silent, limits=EpisodeLimits(calls, seconds),
    )  # fmt: skip
    with LiveWatcher() as watcher:

        def ready(port: int) -> None:
            watcher.expect(None, "serving")
            watcher.say(f"serving {order.out} on port {port}; the token is in {order.out}/environments.json")

        try:
            serve_environments(order, opened(sandbox, image, runtime), watcher, ready, asyncio.Event())
        except KeyboardInterrupt:
            watcher.say("ended; what was stored is kept")
