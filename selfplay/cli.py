"""The `selfplay` command: parse, call one function, show progress. Heavy imports wait until a command needs them."""

import json
import logging
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from selfplay.errors import SelfplayError
from selfplay.plain import printable

app = typer.Typer(
    help="Verified bugs by self-play: point it at a repository and get a curriculum.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,  # importing rich for the help text would triple the start
)
INTERRUPTED = 130


@app.callback()
def _options(verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what is going on.")] = False) -> None:
    logging.basicConfig(
        level=logging.INFO if verbose else logging.ERROR,
        format="%(levelname)s %(name)s: %(message)s",
        stream=sys.stderr,
    )


@app.command()
def curriculum(
    source: Annotated[str, typer.Argument(help="A path, a git URL[@REV], or pypi:NAME[==VERSION].")],
    out: Annotated[Path, typer.Option(help="The run's folder; the same folder again resumes.")],
    bugs: Annotated[int, typer.Option(min=1, help="How many verified bugs to make.")] = 10,
    strategy: Annotated[str, typer.Option(help="removal, history, direct, or mix (removal and history).")] = "mix",
    min_files: Annotated[int, typer.Option(min=1, help="Changed files per bug, at least.")] = 1,
    min_passing: Annotated[int, typer.Option(min=1, help="Tests that pass on the original, at least.")] = 5,
    min_failing: Annotated[int, typer.Option(min=1, help="Tests that fail under the bug, at least.")] = 1,
    seed: Annotated[int, typer.Option(help="Same seed, source and version: same curriculum.")] = 0,
    workers: Annotated[int | None, typer.Option(min=1, help="Episodes at a time; one per core if not given.")] = None,
    releases: Annotated[int, typer.Option(min=0, help="Earlier releases that become history (pypi: sources).")] = 12,
    setup: Annotated[str | None, typer.Option(help="Build the environment with this command instead.")] = None,
    test: Annotated[str | None, typer.Option(help="Run the tests with this command instead.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Make a curriculum of verified bugs from a repository."""
    from selfplay.report.progress import LiveWatcher
    from selfplay.rollout.campaign import Order, run_campaign
    from selfplay.rollout.injection import mix_named
    from selfplay.sandbox import open_backend
    from selfplay.validators import Thresholds

    thresholds = Thresholds(min_passing_tests=min_passing, min_changed_files=min_files, min_failing_tests=min_failing)
    order = Order(source, out, bugs, mix_named(strategy), seed, workers, releases, setup, test, thresholds)
    try:
        with LiveWatcher(bugs) as watcher:
            summary = run_campaign(order, open_backend(), watcher)
    except KeyboardInterrupt:
        print("selfplay: interrupted; the same command resumes", file=sys.stderr)
        raise typer.Exit(INTERRUPTED) from None
    _print_run(summary, out, as_json)
    raise typer.Exit(0 if summary["figures"]["bugs"] >= bugs else 1)


def _print_run(summary: dict[str, Any], out: Path, as_json: bool) -> None:
    if as_json:
        print(json.dumps(summary, indent=2))
        return
    from rich.console import Console

    from selfplay.report.tables import run_report

    Console().print(run_report(summary, out))


@app.command()
def validate(
    path: Annotated[Path, typer.Argument(help="A bug's folder, or a run's.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
) -> None:
    """Run every check again from nothing. Exit 0: all valid, 1: one is not, 2: could not run."""
    from rich.console import Console

    from selfplay.report.tables import verdict_table
    from selfplay.rollout.revalidation import revalidate
    from selfplay.sandbox import open_backend

    console = Console()
    results = []
    for result in revalidate(path, open_backend()):
        results.append(result)
        if not as_json:
            console.print(verdict_table(result.id, result.verdicts))
    if as_json:
        print(json.dumps([result.to_json() for result in results], indent=2))
    raise typer.Exit(0 if all(result.valid for result in results) else 1)


@app.command()
def grade(
    bug_dir: Annotated[Path, typer.Argument(help="The folder of one bug.")],
    patch: Annotated[Path, typer.Option(help="The prediction: a git diff against the solver's world.")],
    counterfactual: Annotated[bool, typer.Option(help="Also run the tests made impossible.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print the grade as JSON.")] = False,
) -> None:
    """Grade a prediction in a fresh sandbox. Exit 0: resolved, 1: not resolved, 2: could not be graded."""
    from rich.console import Console

    from selfplay.report.tables import grade_table
    from selfplay.rollout.grading import grade_file
    from selfplay.sandbox import open_backend

    graded = grade_file(bug_dir, patch, open_backend(), counterfactual=counterfactual)
    if as_json:
        print(json.dumps(graded.to_json(), indent=2))
    else:
        Console().print(grade_table(bug_dir.name, graded))
    raise typer.Exit(0 if graded.resolved else 1)


@app.command()
def audit(
    bug_dir: Annotated[Path, typer.Argument(help="The folder of one bug.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Search the solver's world for copies of the answer. Exit 0: clean, 1: it leaks, 2: could not be searched."""
    from rich.console import Console

    from selfplay.report.tables import audit_table
    from selfplay.rollout.grading import audit_bug
    from selfplay.sandbox import open_backend

    audited = audit_bug(bug_dir, open_backend())
    if as_json:
        print(json.dumps(audited.to_json(), indent=2))
    else:
        Console().print(audit_table(bug_dir.name, audited))
    raise typer.Exit(0 if audited.clean else 1)


@app.command()
def show(bug_dir: Annotated[Path, typer.Argument(help="The folder of one bug.")]) -> None:
    """Show a bug: what was broken where, which tests see it, what the weakening hid, both diffs."""
    from rich.console import Console

    from selfplay.artifact import load, load_bug
    from selfplay.report.page import bug_page

    Console().print(bug_page(load_bug(bug_dir), load(bug_dir)))


def main() -> None:
    """Entry point: a `SelfplayError` is printed with its hint and exits 2."""
    try:
        app()
    except SelfplayError as error:
        print(f"selfplay: {printable(str(error))}", file=sys.stderr)
        sys.exit(2)
