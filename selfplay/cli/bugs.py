"""Commands that run a bug's tests again: `validate`, `grade`, `audit`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from selfplay.cli.app import app
from selfplay.cli.conflicts import refuse
from selfplay.cli.isolation import ImageOption, RuntimeOption, SandboxOption, opened
from selfplay.cli.output import print_either, print_json, print_line, print_page
from selfplay.cli.trust import TrustOption, trusted
from selfplay.cli.weak import WeakOption, weak_chosen
from selfplay.exit_codes import INTERRUPTED

if TYPE_CHECKING:
    from selfplay.oracle.assurance import Weak
    from selfplay.sandbox import Backend


@app.command()
def validate(
    path: Annotated[Path, typer.Argument(help="A bug's folder, or a run's.")],
    workers: Annotated[int | None, typer.Option(min=1, help="Bugs at a time (default: one per core).")] = None,
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    trust: TrustOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the verdicts as JSON.")] = False,
) -> None:
    """Run every check again from nothing. Exit 0: all valid, 1: one is not, 2: could not run."""
    from selfplay.commands.validate import Revalidated, validate_bugs
    from selfplay.report.progress import LiveWatcher
    from selfplay.report.tables import verdict_line, verdict_table
    from selfplay.rollout.scheduler import one_per_core

    def seen(result: Revalidated) -> None:
        if not as_json:
            print_page(verdict_table(result.id, result.verdicts))

    backend, trust = opened(sandbox, image, runtime), trusted(path, trust)
    with LiveWatcher() as watcher:
        found = validate_bugs(path, backend, one_per_core(workers), watcher, seen, trust=trust)
        if found.missing:
            done = len(found.bugs)
            watcher.say(f"interrupted: {done} of {done + found.missing} checked")
            raise typer.Exit(INTERRUPTED)
    if as_json:
        print_json([result.to_json() for result in found.bugs])
    else:
        unchecked = [result.id for result in found.bugs if result.unchecked]
        print_line(verdict_line({result.id: result.valid for result in found.bugs}, unchecked))
    raise typer.Exit(found.exit_code)


@app.command()
def grade(
    path: Annotated[Path, typer.Argument(help="A bug's folder, or with --predictions a run's.")],
    patch: Annotated[Path | None, typer.Option(help="The prediction: a git diff against the solver's world.")] = None,
    world: Annotated[
        Path | None, typer.Option(help="The prediction: what was changed in this folder of `selfplay world`.")
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Predictions for a run: JSON or JSON lines of instance_id and model_patch.")
    ] = None,
    counterfactual: Annotated[bool, typer.Option(help="Also run the tests made impossible.")] = True,
    weak: WeakOption = "count",
    workers: Annotated[int | None, typer.Option(min=1, help="Predictions at a time (default: one per core).")] = None,
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    trust: TrustOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print grades as JSON.")] = False,
) -> None:
    """Grade a prediction in a fresh sandbox. Exit 0: resolved, 1: not resolved, 2: could not be graded."""

    one = predictions is None
    refuse(
        [patch, world, predictions].count(None) != 2,
        "--patch / --world / --predictions",
        "give --patch FILE or --world DIR for one bug, or --predictions FILE for a run",
    )
    refuse(one and workers, "--workers", "one patch is graded by one worker: use --predictions")
    settle = weak_chosen(weak)
    backend = opened(sandbox, image, runtime)
    trust = trusted(path, trust)
    if predictions is not None:
        resolved = _grade_run(path, predictions, backend, counterfactual, settle, workers, as_json, trust)
    else:
        from selfplay.commands.grade import grade_file, grade_world
        from selfplay.report.progress import LiveWatcher
        from selfplay.report.tables import grade_table

        given = patch or world
        assert given is not None
        with LiveWatcher(f"grading {given.name}"):
            grading = grade_file if patch else grade_world
            graded = grading(path, given, backend, counterfactual=counterfactual, weak=settle, trust=trust)
        print_either(as_json, graded.to_json(), lambda: grade_table(path.name, graded))
        resolved = graded.resolved
    raise typer.Exit(0 if resolved else 1)


def _grade_run(
    run: Path, file: Path, backend: "Backend", counterfactual: bool, weak: "Weak", workers: int | None, as_json: bool,
    trust: bool,
) -> bool:  # fmt: skip
    """Grade a file of predictions; returns whether all are resolved."""
    from selfplay.commands.predictions import GradingOptions, grade_file_of_predictions
    from selfplay.report.progress import LiveWatcher
    from selfplay.report.tables import grades_table
    from selfplay.rollout.scheduler import one_per_core

    how = GradingOptions(one_per_core(workers), counterfactual, weak, trust)
    with LiveWatcher() as watcher:
        grades = grade_file_of_predictions(run, file, backend, watcher, how)
    print_either(as_json, {bug: graded.to_json() for bug, graded in grades.items()}, lambda: grades_table(grades))
    return all(graded.resolved for graded in grades.values())


@app.command()
def audit(
    path: Annotated[Path, typer.Argument(help="A bug's folder, or a run's.")],
    sandbox: SandboxOption = "bubblewrap",
    image: ImageOption = None,
    runtime: RuntimeOption = None,
    trust: TrustOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Search the solver's world for copies of the answer. Exit 0: clean, 1: one leaks, 2: one cannot be audited."""
    from selfplay.commands.audit import audit_bugs
    from selfplay.report.progress import LiveWatcher
    from selfplay.report.tables import audit_line, audit_table, unaudited_line

    trust = trusted(path, trust)
    with LiveWatcher("searching the solver's world") as watcher:
        found = audit_bugs(path, opened(sandbox, image, runtime), watcher, trust=trust)
    if as_json:
        print_json(found.to_json())
    else:
        for one in found.bugs:
            print_page(audit_table(one.id, one.audit) if one.audit else unaudited_line(one.id, one.fault))
        if not found.alone:
            print_line(audit_line({one.id: one.state for one in found.bugs}))
    raise typer.Exit(found.exit_code)
