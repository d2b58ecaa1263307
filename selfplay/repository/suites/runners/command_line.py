"""Reads command lines that people wrote for a framework: keeps options and places, drops what changes how it
reports."""

import posixpath
import shlex
from dataclasses import dataclass

from selfplay.repository.suites.runners.go import GO
from selfplay.repository.suites.runners.javascript import AVA, JEST, MOCHA, NODE, VITEST
from selfplay.repository.suites.runners.runner import Runner, RunnerCall, is_assignment


@dataclass(frozen=True)
class _Spelling:
    """How a framework's command line is written. `commands`: its programs; `valued`: options whose value is the next
    word; `dropped`: options that report, watch, shuffle, or measure coverage; `dropped_valued`: such options with a
    value."""

    runner: Runner
    commands: frozenset[str]
    valued: frozenset[str]
    dropped: frozenset[str]
    dropped_valued: frozenset[str]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MOCHA = _Spelling(
    MOCHA,
    _words("mocha _mocha mocha.js mocha.mjs"),
    _words(
        "-r --require -u --ui -t --timeout --timeouts -s --slow -g --grep -f --fgrep --file --ignore --exclude --config"
        " --extension --package --spec --retries --import --loader --experimental-loader -n --node-option --opts"
        " --globals --check-globals"
    ),
    _words("-w --watch -b --bail -p --parallel -c --color --colors -C --no-color --no-colors -G --growl --inspect"),
    _words("-R --reporter -O --reporter-option --reporter-options -j --jobs --watch-files --watch-ignore"),
)
_JEST = _Spelling(
    JEST,
    _words("jest jest.js"),
    _words(
        "-c --config --env --testEnvironment --rootDir --projects --selectProjects --testMatch --testPathPattern"
        " --testPathPatterns --testPathIgnorePatterns --testRegex -t --testNamePattern --testTimeout --setupFiles"
        " --setupFilesAfterEnv --preset --transform --moduleNameMapper --runner --roots --shard"
    ),
    _words(
        "--watch --watchAll --coverage --collectCoverage --verbose --silent --ci -i --runInBand -b --bail --json"
        " --cache --no-cache --color --colors --forceExit --notify --onlyChanged -o --randomize --no-coverage -u"
        " --updateSnapshot --logHeapUsage --detectOpenHandles --passWithNoTests --watchman --no-watchman"
    ),
    _words(
        "--reporters --outputFile -w --maxWorkers --coverageReporters --coverageDirectory --collectCoverageFrom --seed"
    ),
)
_VITEST = _Spelling(
    VITEST,
    _words("vitest vitest.mjs"),
    _words(
        "-c --config -r --root --dir --project --environment --pool -t --testNamePattern --testTimeout --hookTimeout"
        " --mode --workspace --exclude --configLoader"
    ),
    _words(
        "run watch dev related --run -w --watch --coverage --ui --silent --typecheck --typecheck.only --browser -u"
        " --no-color --open --hideSkippedTests --update --passWithNoTests --no-file-parallelism --logHeapUsage"
    ),
    _words("--reporter --outputFile --coverage.reporter --coverage.provider --maxWorkers --minWorkers --shard --bail"),
)
_AVA = _Spelling(
    AVA,
    _words("ava"),
    _words("--config -m --match --node-arguments -T --timeout"),
    _words("--tap -t -v --verbose -w --watch -s --serial --fail-fast --color --no-color -u --update-snapshots debug"),
    _words("-c --concurrency"),
)
_NODE = _Spelling(
    NODE,
    _words("node nodejs"),
    _words(
        "-r --require --import --loader --experimental-loader -C --conditions --test-name-pattern --test-skip-pattern"
        " --test-concurrency --test-timeout --env-file --stack-trace-limit --max-old-space-size"
    ),
    _words(
        "--test --watch --experimental-test-coverage --test-update-snapshots --no-warnings --enable-source-maps"
        " --test-force-exit"
    ),
    _words(
        "--test-reporter --test-reporter-destination --test-coverage-include --test-coverage-exclude"
        " --test-coverage-lines --test-coverage-branches --test-coverage-functions"
    ),
)
_GO = _Spelling(
    GO,
    _words("go"),
    _words("-tags -run -skip -parallel -cpu -p -mod -ldflags -gcflags"),
    _words("test -v -json -race -cover -failfast -x -n -count=1"),
    _words("-count -coverprofile -covermode -coverpkg -bench -benchtime -cpuprofile -memprofile -o -shuffle -timeout"),
)
SPELLINGS = (_MOCHA, _JEST, _VITEST, _AVA, _NODE, _GO)


def segments(command: str) -> list[list[str]]:
    """The words of each single command in a shell command line; empty if it cannot be parsed."""
    reader = shlex.shlex(command, posix=True, punctuation_chars=";|&")
    reader.whitespace_split = True
    reader.commenters = ""
    found: list[list[str]] = [[]]
    try:
        for word in reader:
            if set(word) <= set(";|&"):
                found.append([])
            else:
                found[-1].append(word)
    except ValueError:
        return []
    return [words for words in found if words]


def found_in(words: list[str], only: str = "") -> RunnerCall | None:
    """The call of a measured framework in the words of one command (only the framework `only`, if given); None if there
    is none."""
    for at, word in enumerate(words):
        name = posixpath.basename(word)
        for spelling in SPELLINGS:
            if name in spelling.commands and only in ("", spelling.runner.name) and _calls(spelling, words, at):
                before = [one for one in words[:at] if is_assignment(one)]
                return _call(spelling, before + _node_options(words[:at]), words[at + 1 :])
        if name == "tsx" and "--test" in words[at:]:
            return _call(_NODE, [one for one in words[:at] if is_assignment(one)], ["--import=tsx", *words[at + 1 :]])
    return None


def _calls(spelling: _Spelling, words: list[str], at: int) -> bool:
    """Whether the program at this position runs tests: node and go also do other things, and a framework's name may be
    the value of another program's option (`--parser jest`)."""
    if spelling is _NODE:
        return "--test" in words[at:]
    if spelling is _GO:
        return words[at + 1 : at + 2] == ["test"]
    before = words[at - 1] if at else ""
    return "/" in words[at] or not before.startswith("--") or "=" in before


def _node_options(words: list[str]) -> list[str]:
    """The options in `node OPTIONS path/to/framework`, as an assignment."""
    at = next((at for at, word in enumerate(words) if word in ("node", "nodejs")), None)
    options = [word for word in words[at + 1 :] if word.startswith("--")] if at is not None else []
    return [f"NODE_OPTIONS={' '.join(options)}"] if options else []


def _call(spelling: _Spelling, assignments: list[str], words: list[str]) -> RunnerCall:
    options, places = list[str](), list[str]()
    waiting = iter(words)
    for word in waiting:
        name, equals, _ = word.partition("=")
        if word == "--":
            continue
        if name in spelling.dropped_valued or name in spelling.dropped:
            if name in spelling.dropped_valued and not equals:
                next(waiting, "")
        elif name in spelling.valued and not equals:
            options += [word, next(waiting, "")]
        elif word.startswith("-"):
            options.append(word)
        else:
            places.append(word)
    return RunnerCall(spelling.runner, (*assignments, *options), tuple(places))
