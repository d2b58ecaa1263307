"""`selfplay show`: a run, a bug or a trajectory, also of a running run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from selfplay.cli.app import app
from selfplay.cli.output import print_either

if TYPE_CHECKING:
    from rich.console import RenderableType

    from selfplay.commands.show import Seen


@app.command()
def show(
    path: Annotated[Path, typer.Argument(help="A bug's folder, a run's, or a trajectory.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print what is shown as JSON.")] = False,
) -> None:
    """Show a bug: what was broken where, which tests see it, who solved it, both diffs. For a run: its bugs and their
    figures, and the steps of its training. For a trajectory: every call and its result. Nothing is changed, and the run
    may still be running."""
    from selfplay.commands.show import look
    from selfplay.curriculum.reading_bounds import bounded_reading
    from selfplay.report.progress import LiveWatcher

    def show_it() -> None:
        with LiveWatcher():
            seen = look(path)
        print_either(as_json, seen.to_json(), lambda: page_of(seen, path))

    bounded_reading([path], show_it)


def page_of(seen: "Seen", path: Path) -> "RenderableType":
    """The page of what was found at `path`."""
    from selfplay.commands.show import SeenBug, SeenEpisode
    from selfplay.report.episode_page import episode_page
    from selfplay.report.page import bug_page
    from selfplay.report.run import run_page

    if isinstance(seen, SeenEpisode):
        return episode_page(seen.trajectory)
    if isinstance(seen, SeenBug):
        return bug_page(seen.bug, seen.artifact, seen.attempt, seen.solved)
    page = run_page(seen.summary, path)
    if not seen.steps:
        return page
    from rich.console import Group

    from selfplay.report.training import training_page

    return Group(page, training_page(seen.steps))
