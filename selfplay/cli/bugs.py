"""Commands that run a bug's tests again: `validate`, `grade`, `audit`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from selfplay.cli.app import INTERRUPTED, app
from selfplay.cli.conflicts import refuse
from selfplay.cli.isolation import ImageOption, RuntimeOption, SandboxOption, opened
from selfplay.cli.output import print_either, print_json, print_line, print_page
from selfplay.cli.trust import TrustOption, trusted
from selfplay.cli.weak import WeakOption, weak_chosen

if TYPE_CHECKING:
    from selfplay.oracle.assurance import Weak
    from selfplay.oracle.leak_audit.audit import Audit
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
    from selfplay.commands.validate import revalidate
    from selfplay.curriculum.stored_bugs import bug_folders
    from selfplay.formatting import count
    from selfplay.report.progress import LiveWatcher
    from selfplay.report.tables import verdict_line, verdict_table
    from selfplay.rollout.scheduler import one_per_core

    backend, results = opened(sandbox, image, runtime), []
    trust, total = trusted(path, trust), len(bug_folders(path))
    with LiveWatcher() as watcher:
        watcher.expect(total, f"checking {count(total, 'bug')}")
        try:
            for result in revalidate(path, backend, one_per_core(workers), trust=trust):
                results.append(result)
                if not as_json:
                    print_page(verdict_table(result.id, result.verdicts))
                watcher.done(f"{len(results)} of {total}: {result.id} {'valid' if result.valid else 'not valid'}")
        except KeyboardInterrupt:
            watcher.say(f"interrupted: {len(results)} of {total} checked")
            raise typer.Exit(INTERRUPTED) from None
    if as_json:
        print_json([result.to_json() for result in sorted(results, key=lambda one: one.id)])
    else:
        print_line(verdict_line({result.id: result.valid for result in results}))
    raise typer.Exit(0 if all(result.valid for result in results) else 1)


@app.command()
def grade(
    path: Annotated[Path, typer.Argument(help="A bug's folder, or with --predictions a run's.")],
    patch: Annotated[Path | None, typer.Option(help="The prediction: a git diff against the solver's world.")] = None,
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

    one = patch is not None
    refuse(
        one == (predictions is not None),
        "--patch / --predictions",
        "give --patch FILE for one bug, or --predictions FILE for a run",
    )
    refuse(one and workers, "--workers", "one patch is graded by one worker: use --predictions")
    settle = weak_chosen(weak)
    backend = opened(sandbox, image, runtime)
    trust = trusted(path, trust)
    if predictions is not None:
        resolved = _grade_run(path, predictions, backend, counterfactual, settle, workers, as_json, trust)
    else:
        assert patch is not None
        from selfplay.commands.grade import grade_file
        from selfplay.report.progress import LiveWatcher
        from selfplay.report.tables import grade_table

        with LiveWatcher(f"grading {patch.name}"):
            graded = grade_file(path, patch, backend, counterfactual=counterfactual, weak=settle, trust=trust)
        print_either(as_json, graded.to_json(), lambda: grade_table(path.name, graded))
        resolved = graded.resolved
    raise typer.Exit(0 if resolved else 1)


def _grade_run(
    run: Path, file: Path, backend: "Backend", counterfactual: bool, weak: "Weak", workers: int | None, as_json: bool,
    trust: bool,
) -> bool:  # fmt: skip
    """Grade a file of predictions; returns whether all are resolved."""
    from selfplay.commands.predictions import grade_predictions, read_predictions
    from selfplay.oracle.reasons import reason_in_words
    from selfplay.report.progress import LiveWatcher
    from selfplay.report.tables import grades_table
    from selfplay.rollout.scheduler import one_per_core

    diffs, grades = read_predictions(file), {}
    with LiveWatcher() as watcher:
        watcher.expect(len(diffs), "grading")
        found = grade_predictions(
            run, diffs, backend, workers=one_per_core(workers), counterfactual=counterfactual, weak=weak, trust=trust
        )
        for bug, graded in found:
            grades[bug] = graded
            watcher.done(f"{bug}: {reason_in_words(graded.reason)}")
    ordered = dict(sorted(grades.items()))
    print_either(as_json, {bug: graded.to_json() for bug, graded in ordered.items()}, lambda: grades_table(ordered))
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
    from selfplay.commands.audit import audit_bug
    from selfplay.curriculum.stored_bugs import bug_folders
    from selfplay.report.progress import LiveWatcher
    from selfplay.report.tables import audit_table

    trust = trusted(path, trust)
    folders, found = bug_folders(path), dict[str, "Audit"]()
    backend = opened(sandbox, image, runtime)
    with LiveWatcher("searching the solver's world") as watcher:
        if len(folders) > 1:
            watcher.expect(len(folders), "searching the solvers' worlds")
        for folder in folders:
            found[folder.name] = audit_bug(folder, backend, trust=trust)
            if len(folders) > 1:
                watcher.done(f"{folder.name}: {found[folder.name].state.replace('-', ' ')}")
    if as_json:
        every = [{"id": name, **one.to_json()} for name, one in found.items()]
        print_json(found[path.name].to_json() if folders == [path] else every)
    else:
        for name, one in found.items():
            print_page(audit_table(name, one))
    raise typer.Exit(_audited([one.state.value for one in found.values()]))


def _audited(states: list[str]) -> int:
    """The exit code: 1 where a world leaks, else 2 where one cannot be audited."""
    return 1 if "leaks" in states else 2 if "not-auditable" in states else 0
