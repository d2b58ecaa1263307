"""Why the scripted injector cannot succeed on a repository, in any episode: found out before one is played."""

from collections.abc import Callable, Iterator, Sequence

from selfplay.formatting import count
from selfplay.patches import is_test_file
from selfplay.repository import Suite
from selfplay.roles.injector.task import InjectorTask
from selfplay.scripted.edits.cuts import Cut
from selfplay.scripted.edits.names import Function
from selfplay.scripted.injector.direct import direct_cuts
from selfplay.scripted.injector.function_planner import reached_cuts, whole_cuts
from selfplay.scripted.injector.planner import MOST_TESTS
from selfplay.scripted.injector.removal import removal_cuts
from selfplay.scripted.injector.sources import Sources
from selfplay.scripted.injector.survey import Survey

OTHER_CODE = "what they test may be compiled, and a model (--policy) may plant bugs there"


def impossible(task: InjectorTask, known: Survey | Sources) -> str:
    """Why no episode of the task's strategy can ever succeed, in one sentence; empty when one may."""
    reasons = _without_survey(task, known) if isinstance(known, Sources) else _reasons(task, known)
    return next((reason for reason in reasons if reason), "")


def _without_survey(task: InjectorTask, sources: Sources) -> Iterator[str]:
    """Which code tests reach is not known, and what past commits changed neither."""
    if task.strategy == "feature":
        yield "the scripted injector adds no features"
    yield _too_few_tests(task)
    files = {place.path for place in sources.places}
    if not files:
        yield f"no {sources.language} function of two statements is in the product's files"
    yield _too_few_files(task, len(files), "the scripted injector can change")


def _reasons(task: InjectorTask, survey: Survey) -> Iterator[str]:
    if task.strategy == "feature":
        yield "the scripted injector adds no features"
    yield _too_few_tests(task)
    yield _not_named_as_tests(task.suite)
    yield _out_of_reach(survey)
    if task.strategy == "history":
        yield _no_past(task, survey)
    else:
        yield _no_change(task, survey)


def _too_few_tests(task: InjectorTask) -> str:
    return too_few_tests(task.suite, task.min_passing_tests, task.min_failing_tests)


def too_few_tests(suite: Suite, min_passing: int, min_failing: int) -> str:
    """Why no bug in code with this suite can be valid, whoever plants it; empty when one can, or when nobody measured
    the suite."""
    usable = len(suite.seconds)
    said = f"the suite has {count(usable, 'usable test')}"
    if suite.why:
        return ""
    if usable < min_passing:
        return f"{said}, and a bug needs {min_passing} (min-passing)"
    if usable <= min_failing:
        return f"{said}, and a bug needs {min_failing} that fail (min-failing) and one that does not"
    return ""


def _not_named_as_tests(suite: Suite) -> str:
    """The name says what a weakening may touch (check 1)."""
    if not suite.files or any(map(is_test_file, suite.files)):
        return ""
    return f"no file of its tests is named as one, or lies in a folder that is ({suite.files[0]}): it could hide no bug"


def _out_of_reach(survey: Survey) -> str:
    if survey.targets:
        return ""
    if survey.installed:
        names = ", ".join(survey.installed)
        return f"the tests import the installed package {names}, not the one in the tree"
    return f"no Python function of the tree is reached by tests: {OTHER_CODE}"


def _no_past(task: InjectorTask, survey: Survey) -> str:
    files = {target.path for target in survey.targets} & survey.changed
    if not files:
        return "the history strategy finds no commit that changes code that tests reach"
    return _too_few_files(task, len(files), "past commits change")


def _no_change(task: InjectorTask, survey: Survey) -> str:
    """Counts files only until there are enough, so that usually one function is examined."""
    files: set[str] = set()
    for target in survey.targets:
        if target.path in files:
            continue
        lines = survey.lines[target.path]
        cuts: Callable[[Function, Sequence[str]], list[Cut]]
        cuts = direct_cuts if task.strategy == "direct" else removal_cuts
        whole = task.strategy != "direct" and whole_cuts(survey, target, lines)
        if whole or any(_differs(cut, lines) for cut in reached_cuts(survey, target, cuts, lines)):
            files.add(target.path)
        if len(files) >= task.min_changed_files:
            return ""
    if not files:
        return f"the {task.strategy} strategy finds no line that it can change and that 1 to {MOST_TESTS} tests run"
    return _too_few_files(task, len(files), f"the {task.strategy} strategy can change")


def _differs(cut: Cut, lines: Sequence[str]) -> bool:
    return list(cut.lines) != [line.rstrip("\n") for line in lines[cut.start - 1 : cut.end]]


def _too_few_files(task: InjectorTask, files: int, who: str) -> str:
    if files >= task.min_changed_files:
        return ""
    return f"{who} {count(files, 'file')} that tests reach, --min-files asks for {task.min_changed_files}"
