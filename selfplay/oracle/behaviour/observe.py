"""Records what the original and the buggy program do on inputs that the solver never saw; `compare.py` compares
predictions with it."""

import secrets
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from selfplay.oracle.behaviour import python_probes
from selfplay.oracle.behaviour.call_results import SCENARIO
from selfplay.oracle.behaviour.call_selection import DrawnCalls, Scenario, behaviour_of, observed_calls
from selfplay.oracle.behaviour.constant_programs import constant_is_caught
from selfplay.oracle.behaviour.inherited_tests import with_inherited
from selfplay.oracle.behaviour.probe_runner import OTHER_SEED, Bench, with_texts
from selfplay.oracle.behaviour.scenarios import Files
from selfplay.oracle.behaviour.stored_behaviour import (
    ENOUGH,
    KEPT,
    Behaviour,
    Looks,
    Outcomes,
    choose,
)
from selfplay.oracle.behaviour.traced_calls import Entered
from selfplay.oracle.behaviour.unseen_inputs import Novelty
from selfplay.oracle.originals import Original, original_texts, read_originals
from selfplay.oracle.rewriting.instrument import deciding
from selfplay.oracle.task import Oracle, Task
from selfplay.plain_text import decode
from selfplay.sandbox import Backend, Limits
from selfplay.workbench.files import TestFile

TRIED, LEAST_TRIED, CONSIDERED = 64, 16, 24
"""The most probes tried on the original and on the buggy program, over all files; the same for one file at least; and
the most that run again on the original."""
DRAWS = 3
"""How often calls are drawn, at most."""
FIXTURES = "conftest.py"


def observe(
    backend: Backend, task: Task, oracle: Oracle, limits: Limits = Limits(), *, witness: bool = False
) -> Behaviour:
    """Try probes twice on the original and once on the buggy program; the result is empty if the suite cannot be
    probed. `witness`: also record what the programs do to their interpreter. Raises `SandboxError` when no sandbox is
    available."""
    every = _test_texts(task)
    fixtures = [path for path in task.artifact.test_files if PurePosixPath(path).name == FIXTURES]
    made = read_originals(task.world, fixtures)
    bench = Bench(backend, task, oracle, limits, witness, _python_tests(task, oracle, every), made)
    if not bench.files:
        return Behaviour()
    originals = {path: decode(file.content) for path, file in bench.files.items()}
    shown = bench.run(originals, watched=True)[1]
    probes, calls = _drawn(bench, originals, shown, every)
    tests = _tests(bench, probes) if len(calls.right) < KEPT else Behaviour()
    known = replace(
        calls, files=tests.files, right={**tests.right, **calls.right}, wrong={**tests.wrong, **calls.wrong}
    )  # fmt: skip
    known = replace(known, runs=bench.runs, events=tuple(bench.events))
    return replace(known, constant_caught=constant_is_caught(bench, known))  # what those programs do is no event


@dataclass(frozen=True)
class _Probes:
    """The F2P tests with other inputs. `files`: by path; `groups`: probe -> its test, for probes whose inputs reach the
    program as no test's do; `rest`: the other test files; `first`: outcomes of the original."""

    files: Mapping[str, python_probes.Probed] = field(default_factory=dict)
    rest: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    first: Outcomes = field(default_factory=dict)

    def holding(self, probes: Collection[str]) -> dict[str, str]:
        """The test files with only these probes."""
        return {**self.rest, **{path: python_probes.only(one.text, probes) for path, one in self.files.items()}}


def _drawn(
    bench: Bench, originals: Mapping[str, str], shown: Entered, every: Mapping[str, str]
) -> tuple[_Probes, Behaviour]:
    """Probes, and calls that tell the two programs apart, drawn again while too few calls are novel: which are found is
    chance. `every`: all test files."""
    best = _Probes(), DrawnCalls()
    for number in range(DRAWS):
        novelty = Novelty("\n".join(every.values()), bench.names, strange=number > 0)
        probes = _probes(bench, originals, shown, novelty)
        draw = observed_calls(bench, shown, _scenarios(bench, probes, every), novelty)
        if not number or _worth(draw.calls) > _worth(best[1].calls):
            best = probes, draw
        if len(best[1].calls.novel) >= ENOUGH or not (shown.calls or probes.groups):
            break
    return best[0], best[1].judged()


def _worth(calls: Behaviour) -> tuple[bool, int, int]:
    """What makes one draw better than another: calls that are enough to judge by, then novel ones, then more of all."""
    return len(calls.calls.sources) >= ENOUGH, len(calls.novel), len(calls.right)


def _probes(bench: Bench, originals: Mapping[str, str], shown: Entered, novelty: Novelty) -> _Probes:
    """Make probes. A probe is dropped if its inputs do not reach the program, or if they also do so in a test."""
    seed, wanted = secrets.randbits(64), sorted(bench.oracle.fail_to_pass)
    asked = {path: text for path, text in originals.items() if python_probes.has_any(path, text, wanted)}
    most = max(LEAST_TRIED, TRIED // max(1, len(asked)))
    made = {path: python_probes.probed(path, text, wanted, most, seed, novelty) for path, text in asked.items()}
    found = {path: probes for path, probes in made.items() if probes is not None and probes.names}
    if not found or not shown.digests:
        return _Probes()
    rest = {path: python_probes.emptied(text) for path, text in originals.items() if path not in found}
    first, entered = bench.run(rest | {path: one.text for path, one in found.items()}, watched=True)
    groups = {
        name: test for one in found.values() for name, test in one.names.items()
        if name not in entered.stopped and set(entered.reached.get(name, ())) - shown.digests
    }  # fmt: skip
    return _Probes(found, rest, groups, first)


def _scenarios(bench: Bench, probes: _Probes, every: Mapping[str, str]) -> dict[str, Scenario]:
    """Name of a helper -> its scenario, for each probe that needs no runner. `every`: all test files."""
    texts = {**every, **{path: one.text for path, one in probes.files.items()}}
    found, files = dict[str, Scenario](), Files(texts, lambda path: Original(bench.task.world).there(path))
    for path, one in probes.files.items():
        for probe in (probe for probe in one.names if probe in probes.groups):
            made = files.scenario(path, probe)
            if made is not None:
                name = f"{SCENARIO}{len(found)}"
                test = f"{path} {probes.groups[probe]}"
                found[name] = Scenario(made[0], f"{name}.{made[1]}()", test, probe in one.novel)
    return found


def _tests(bench: Bench, probes: _Probes) -> Behaviour:
    """Probes that run as tests do, used if too few calls can be made outside of the runner."""
    groups, first = probes.groups, probes.first
    if not groups:
        return Behaviour()
    buggy = bench.run(probes.holding(groups), bench.task.diffs)[0]
    likely = choose(groups, Looks(first, first, buggy, bench.asserted), CONSIDERED)
    if not likely:
        return Behaviour()
    again = bench.run(probes.holding(likely), hash_seed=OTHER_SEED)[0]
    chosen = choose(groups, Looks(first, again, buggy, bench.asserted), KEPT)
    return replace(behaviour_of(chosen), files=with_texts(bench.files, probes.holding(chosen)))


def _test_texts(task: Task) -> dict[str, str]:
    """The Python files of the tests, and those in the same folders."""
    original = Original(task.world)
    folders = {PurePosixPath(path).parent.as_posix() for path in task.artifact.test_files if path.endswith(".py")}
    beside = {path for folder in folders - {"."} for path in original.below(folder) if path.endswith(".py")}
    return original_texts(task.world, sorted(beside | {one for one in task.artifact.test_files if one.endswith(".py")}))


def _python_tests(task: Task, oracle: Oracle, every: Mapping[str, str]) -> dict[str, TestFile]:
    """The Python test files with tests that decide, the inherited ones in the classes that inherit them. `every`: the
    texts of all test files."""
    files = read_originals(task.world, task.artifact.test_files)
    own = {path: with_inherited(path, every, oracle.wanted) for path in files.keys() & every.keys()}
    files |= with_texts(files, {path: text for path, text in own.items() if text != every[path]})
    return {path: files[path] for path in deciding(files, oracle.wanted) if path.endswith(".py")}
