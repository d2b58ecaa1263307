"""JavaScript: mocha, jest, vitest, ava, and node's own test runner. Each is called from the repository's own
`node_modules`, or from where its environment has them, and reports through our reporter or in its own form."""

from collections.abc import Sequence

from selfplay.repository.inside import text
from selfplay.repository.suites.runners.runner import Runner, RunnerRequest, quoted
from selfplay.repository.suites.script_frame import chosen

SETTINGS = 'export SELFPLAY_DIR="$work" CI=1 PATH="$PWD/node_modules/.bin:$PATH"'


def _called(asked: RunnerRequest, command: str) -> list[str]:
    """The lines that run `command` on the chosen files or places."""
    lines = [SETTINGS, *([f"export {quoted(asked.assignments)}"] if asked.assignments else [])]
    lines += [f'{one} > "$work/compiled" 2>&1 < /dev/null || cat "$work/compiled"' for one in asked.before]
    if asked.files:
        return [*lines, *chosen(asked.files), f'{command} "${{chosen[@]}}"']
    return [*lines, f"{command} {quoted(asked.places)}".rstrip()]


def _mocha(asked: RunnerRequest) -> Sequence[str]:
    return _called(asked, f'mocha {quoted(asked.words)} --reporter "$work/mocha_reporter.js"')


def _node(asked: RunnerRequest) -> Sequence[str]:
    reporter = '--test-reporter="$work/node_reporter.js" --test-reporter-destination=stdout'
    command = f"node {quoted(asked.words)} --test {reporter}"
    if asked.files:
        return _called(asked, command)
    places = " ".join(place if _plain(place) else quoted([place]) for place in asked.places)  # the shell expands them
    first = _called(RunnerRequest(options=asked.options, before=asked.before), "shopt -s globstar nullglob")[:-1]
    return [*first, f"{command} {places}".rstrip()]


def _plain(place: str) -> bool:
    """Whether a shell would interpret nothing but a file pattern in it."""
    return all(character.isalnum() or character in "._-/*?@+,[]{}" for character in place)


def _jest(asked: RunnerRequest) -> Sequence[str]:
    report = '--ci --maxWorkers=1 --coverage=false --json --outputFile="$work/report.json"'
    by_path = " --runTestsByPath" if asked.files else ""
    return _with_report(_called(asked, f"jest {quoted(asked.words)} {report}{by_path}"))


def _vitest(asked: RunnerRequest) -> Sequence[str]:
    report = '--reporter=default --reporter=json --outputFile.json="$work/report.json" --coverage.enabled=false'
    alone = "export VITEST_MAX_THREADS=1 VITEST_MAX_FORKS=1 VITEST_MAX_WORKERS=1"
    return [alone, *_with_report(_called(asked, f"vitest run {quoted(asked.words)} {report}"))]


def _ava(asked: RunnerRequest) -> Sequence[str]:
    return _called(
        asked, f'node "$work/ava_run.js" {quoted(asked.words)} --selfplay-{"files" if asked.files else "places"}'
    )


def _with_report(lines: list[str]) -> list[str]:
    """The lines, then the conversion of the framework's own report to records; without a report nothing ran."""
    return [*lines, "ended=$?", 'node "$work/jest_records.js" || ended=1', '(exit "$ended")']


def _programs(*names: str) -> dict[str, str]:
    return {name: text(name) for name in ("selfplay_record.js", *names)}


MOCHA = Runner("mocha", "javascript", _programs("mocha_reporter.js"), _mocha, ignoring="--ignore=")
JEST = Runner("jest", "javascript", _programs("jest_records.js"), _jest)
VITEST = Runner("vitest", "javascript", _programs("jest_records.js"), _vitest)
AVA = Runner("ava", "javascript", _programs("ava_run.js"), _ava)
NODE = Runner("node", "javascript", _programs("node_reporter.js"), _node)
