"""`selfplay image build`: a repository and its environment as an image."""

from typing import Annotated

import typer

from selfplay.cli.app import app
from selfplay.cli.isolation import AllowHostOption
from selfplay.cli.output import print_json, print_line

image = typer.Typer(help="Images for `--sandbox docker --image`.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(image, name="image")
DEFAULT_BASE = "python:3.12-bookworm"


@image.callback()
def _group() -> None:
    """Keeps this a command group while it has one command."""


@image.command()
def build(
    source: Annotated[str, typer.Argument(help="A path, a git URL[@REV], or pypi:NAME[==VERSION].")],
    base: Annotated[str, typer.Option(help="An image in the engine, with bash, git and Python.")] = DEFAULT_BASE,
    tag: Annotated[
        str | None, typer.Option(help="The image's name; by default made from the source and its content.")
    ] = None,
    setup: Annotated[str | None, typer.Option(help="Build the environment with this command instead.")] = None,
    allow_host: AllowHostOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was built as JSON.")] = False,
) -> None:
    """Build an image with the source at /testbed, its history, and its environment. Use it with:
    selfplay curriculum image: --sandbox docker --image TAG"""
    from selfplay.commands.image import build_image
    from selfplay.report.progress import LiveWatcher

    with LiveWatcher() as watcher:
        built = build_image(source, base, tag, setup, watcher.say, allow_hosts=tuple(allow_host or ()))
    if as_json:
        print_json(built.to_json())
    else:
        print_line(built.tag)
