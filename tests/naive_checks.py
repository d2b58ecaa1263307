"""The eight checks once more, naively: a second opinion that shares no code with the product's own.

Nothing is clever here. Trees are copied folders and compared byte by byte; every variant is a full run; diffs are
applied by `git apply` and never parsed, beyond looking for `rename` lines. Tests and parsers run through two
callables given by the caller, which decides what isolates them (`sandboxed` makes both from a backend).
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from naive_trees import difference, gives_away, renames, snapshot

from selfplay.sandbox import Backend, InsideError, SandboxError, World

RunTests = Callable[[Path, bytes, float], tuple[bytes, bool]]
"""(tree, script, seconds) -> (standard output, whether it was stopped)"""
RunParser = Callable[[bytes, bytes], tuple[int, bytes]]
"""(parser, log) -> (exit code, standard output)"""
TEST_PATH = re.compile(
    r"(^|[/_.-])(tests?|testing|specs?|conftest|__tests__)([/_.-]|$)|[a-z0-9](Tests?|Spec)\.|(pytest|tox)\.ini$"
)


class Rejected(Exception):
    """(check, reason)"""


@dataclass(frozen=True)
class Opinion:
    failed: str | None
    """The first check that does not hold, None when all do."""
    reason: str = ""
    fail_to_pass: frozenset[str] = frozenset()
    pass_to_pass: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Case:
    original: Path
    five: dict[str, bytes]
    run_tests: RunTests
    run_parser: RunParser
    seconds: float
    scratch: Path


def opinion(
    original: Path,
    artifact: Path,
    run_tests: RunTests,
    run_parser: RunParser,
    *,
    min_passing_tests: int = 5,
    min_changed_files: int = 1,
    min_failing_tests: int = 1,
    seconds: float = 90,
    repeats: int = 2,
    **others: float,
) -> Opinion:
    """Which check the artifact in folder `artifact` fails first, judged on folder `original`. `others`: not judged."""
    five = {path.name: path.read_bytes() for path in artifact.iterdir() if path.is_file()}
    minimum = {"passing": min_passing_tests, "files": min_changed_files, "failing": min_failing_tests}
    with tempfile.TemporaryDirectory() as scratch:
        os.chmod(scratch, 0o755)  # noqa: PTH101
        case = Case(original, five, run_tests, run_parser, seconds, Path(scratch))
        try:
            return judge(case, minimum, repeats)
        except Rejected as rejected:
            return Opinion(*rejected.args)


def judge(case: Case, minimum: dict[str, int], repeats: int) -> Opinion:
    bug, weaken = case.five["bug_inject.diff"], case.five["test_weaken.diff"]
    tests = {line for line in case.five["test_files.txt"].decode().splitlines() if line}
    test_files(case, tests, weaken)
    clean = outcomes(case, "parser", "test_script")
    demand("test_script", "failed" not in clean.values(), "a test fails on the original")
    demand("test_script", len(clean) >= minimum["passing"], "too few tests")
    changed = scope(case, tests, bug, minimum["files"])
    buggy = outcomes(case, "bug", "bug", bug)
    broken = verdict_on_bug(clean, buggy, minimum["failing"])
    demand("weakening", not gives_away(weaken), "commented out")
    weakened = outcomes(case, "weakening", "weakening", bug, weaken)
    verdict_on_weakening(clean, buggy, weakened)
    flips = inverse_mutation(case, bug, changed, broken)
    demand("inverse_mutation", all(flips), "a file makes no difference")
    cleans = [clean] + [outcomes(case, "determinism", "determinism") for _ in range(repeats - 1)]
    buggies = [buggy] + [outcomes(case, "determinism", "determinism", bug) for _ in range(repeats - 1)]
    flaky = varying(cleans) | varying(buggies)
    try:
        steady = {test: outcome for test, outcome in clean.items() if test not in flaky}
        demand("test_script", len(steady) >= minimum["passing"], "too few tests")
        broken = verdict_on_bug(steady, buggy, minimum["failing"])
        verdict_on_weakening(steady, buggy, {test: result for test, result in weakened.items() if test not in flaky})
        demand("inverse_mutation", all(flip & broken for flip in flips), "a file makes no difference")
    except Rejected as rejected:
        raise Rejected("determinism", rejected.args[1]) from rejected
    return Opinion(None, "", frozenset(broken), frozenset(passed(steady) - broken))


def test_files(case: Case, tests: set[str], weaken: bytes) -> None:
    demand("test_files", all((case.original / test).is_file() for test in tests), "a listed file does not exist")
    tree = variant(case, "test_files", weaken)
    touched = {os.fsdecode(path) for path in difference(snapshot(case.original), snapshot(tree))}
    demand("test_files", bool(touched), "the weakening changes nothing")
    demand("test_files", touched <= tests, "the weakening touches a file that is not listed")
    demand("test_files", all(map(TEST_PATH.search, touched)), "the weakening touches code")
    demand("test_files", not links(case, tree, touched), "the weakening makes a link")
    shutil.rmtree(tree)


def scope(case: Case, tests: set[str], bug: bytes, at_least: int) -> list[set[str]]:
    """The changed files, the two names of a rename together."""
    tree = variant(case, "scope", bug)
    changed = {os.fsdecode(path) for path in difference(snapshot(case.original), snapshot(tree))}
    demand("scope", not changed & tests and not any(map(TEST_PATH.search, changed)), "a test file is touched")
    demand("scope", not links(case, tree, changed), "a link is made")
    demand("scope", not gives_away(bug), "the original is kept as a comment")
    files = [{path} for path in sorted(changed)]
    for old, new in renames(bug):
        files = [file for file in files if not file & {old, new}] + [{old, new}]
    demand("scope", len(files) >= at_least, "too few files")
    shutil.rmtree(tree)
    return files


def verdict_on_bug(clean: dict[str, str], buggy: dict[str, str], at_least: int) -> set[str]:
    broken = passed(clean) - passed(buggy)
    demand("bug", len(broken) >= at_least, "too few tests fail")
    demand("bug", bool(passed(clean) & passed(buggy)), "nothing passes any more")
    return broken


def verdict_on_weakening(clean: dict[str, str], buggy: dict[str, str], weakened: dict[str, str]) -> None:
    broken = passed(clean) - passed(buggy)
    failed = set(weakened) - passed(weakened)
    for test in passed(clean) & passed(buggy):
        cases = any(test.split("[")[0] == other.split("[")[0] for other in broken)
        demand("weakening", cases or test in weakened, "the weakening removes a test")
    demand("weakening", failed <= broken, "the weakening breaks a test")
    demand("weakening", bool(broken - failed), "nothing is hidden")


def inverse_mutation(case: Case, bug: bytes, files: list[set[str]], broken: set[str]) -> list[set[str]]:
    """For each file: the failing tests that pass once it alone is restored, by copying it from the original."""
    flips = []
    for file in files:
        tree = variant(case, "inverse_mutation", bug)
        for path in file:
            (tree / path).unlink(missing_ok=True)
            if os.path.lexists(case.original / path):
                (tree / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(case.original / path, tree / path, follow_symlinks=False)
        log, _ = case.run_tests(tree, case.five["test_script.sh"], case.seconds)
        try:
            flips.append(broken & passed(parse(case, log)))
        except ValueError:
            flips.append(set())
        shutil.rmtree(tree)
    return flips


def outcomes(case: Case, parser_check: str, script_check: str, *diffs: bytes) -> dict[str, str]:
    tree = variant(case, script_check, *diffs)
    log, stopped = case.run_tests(tree, case.five["test_script.sh"], case.seconds)
    shutil.rmtree(tree)
    demand(script_check, not stopped, "the script was stopped")
    try:
        return parse(case, log)
    except ValueError as error:
        raise Rejected(parser_check, str(error)) from error


def parse(case: Case, log: bytes) -> dict[str, str]:
    code, printed = case.run_parser(case.five["test_parser.py"], log)
    if code:
        raise ValueError(f"the parser exits with {code}")
    try:
        value = json.loads(printed)
    except RecursionError as error:
        raise ValueError("the parser prints nonsense") from error
    if not isinstance(value, dict) or not value or not {"passed", "failed"}.issuperset(value.values()):
        raise ValueError(f"the parser prints {printed[:50]!r}")
    return value


def variant(case: Case, check: str, *diffs: bytes) -> Path:
    """A copy of the original with the diffs applied."""
    tree = Path(tempfile.mkdtemp(dir=case.scratch))
    shutil.rmtree(tree)
    shutil.copytree(case.original, tree, symlinks=True)
    for diff in diffs:
        env = {"PATH": os.environ["PATH"], "GIT_CEILING_DIRECTORIES": str(case.scratch)}
        done = subprocess.run(["git", "apply", "-"], cwd=tree, input=diff, capture_output=True, env=env, timeout=60)
        demand(check, done.returncode == 0, f"a diff does not apply: {done.stderr.decode(errors='replace')}")
    return tree


def links(case: Case, tree: Path, paths: set[str]) -> list[str]:
    return [path for path in paths if (case.original / path).is_symlink() or (tree / path).is_symlink()]


def passed(outcomes: dict[str, str]) -> set[str]:
    return {test for test, outcome in outcomes.items() if outcome == "passed"}


def varying(runs: list[dict[str, str]]) -> set[str]:
    return {test for run in runs for test in run if any(other.get(test) != run[test] for other in runs)}


def demand(check: str, holds: bool, otherwise: str) -> None:
    if not holds:
        raise Rejected(check, otherwise)


def sandboxed(backend: Backend, world: World, parser_seconds: float = 15) -> tuple[RunTests, RunParser]:
    """Both callables over a real backend: a fresh sandbox each time, with the environment and mounts of `world`."""

    def run_tests(tree: Path, script: bytes, seconds: float) -> tuple[bytes, bool]:
        if os.geteuid() == 0:
            for path in (tree, *tree.rglob("*")):
                os.chown(path, *backend.owner(), follow_symlinks=False)
        with backend.open(replace(world, tree=(tree,))) as sandbox:
            sandbox.write_file("/tmp/test_script.sh", script)
            try:
                done = sandbox.run(["bash", "/tmp/test_script.sh"], timeout=seconds)
            except (SandboxError, InsideError):  # the script killed everything around it
                return b"", True
        return done.stdout, done.timed_out or done.truncated

    def run_parser(parser: bytes, log: bytes) -> tuple[int, bytes]:
        with backend.open(replace(world, tree=())) as sandbox:
            sandbox.write_file("/tmp/test_parser.py", parser)
            done = sandbox.run(["python3", "/tmp/test_parser.py"], timeout=parser_seconds, stdin=log)
        return 1 if done.timed_out else done.exit_code, done.stdout

    return run_tests, run_parser
