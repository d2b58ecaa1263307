"""Records what the original and the buggy program do on inputs that nobody was shown; predictions are judged by it
(`second_look.py`)."""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import PurePosixPath
from types import MappingProxyType

from selfplay.oracle import python_probes
from selfplay.oracle.behaviour import KEPT, KEPT_CALLS, Behaviour, Outcomes, choose, without_accidents
from selfplay.oracle.calibration import Oracle
from selfplay.oracle.call_probes import by_novelty, shape_of, varied_calls
from selfplay.oracle.calling import Caller, Calls
from selfplay.oracle.entered import ENTERED_FILE, Entered, changed_lines, read_entered, watching
from selfplay.oracle.events import Event
from selfplay.oracle.helpers import helped
from selfplay.oracle.instrument import deciding
from selfplay.oracle.originals import Original, original_texts, read_originals
from selfplay.oracle.places import BARE, Place, users_place
from selfplay.oracle.recording import Recording
from selfplay.oracle.scenarios import scenario
from selfplay.oracle.trial import Order, run_trial
from selfplay.oracle.world import Task
from selfplay.plain import decode, encode
from selfplay.sandbox import Backend, Limits
from selfplay.workbench.files import TestFile

TRIED, CONSIDERED = 64, 24
"""Probes that are tried on the original and on the buggy program, and those that the original runs again."""
SEEN, TRIED_CALLS, CONSIDERED_CALLS = 400, 200, 120
"""Calls of the tests that are looked at; others that are made of these, and, twice as many, of those that showed the
bug; and those that the original runs again."""
CALL_SECONDS, CALLS_SECONDS = 0.25, 120.0
"""Of one call, and of all that are tried in one process: a prediction has four times as long for each."""
OTHER_SEED = "7"
"""Of the hashes in the second run: what depends on them is no behaviour. Calls are made again in a user's place: what
depends on the place is none either."""


@dataclass
class _Bench:
    """Runs probes, and counts what that takes. `files`: the Python files with tests that decide."""

    backend: Backend
    task: Task
    oracle: Oracle
    limits: Limits
    witness: bool
    files: Mapping[str, TestFile]
    runs: int = 0
    events: list[Event] = field(default_factory=list)

    def run(
        self, texts: Mapping[str, str], diffs: Sequence[str] = (), hash_seed: str = "", watched: bool = False
    ) -> tuple[Outcomes, Entered]:
        """What the probes in these files record, and, when it is `watched`, how they enter the program."""
        texts = {path: watching(self.task, text) for path, text in texts.items()} if watched else texts
        order = Order(
            tuple(diffs), self.oracle.seconds, files=_with(self.files, texts), hash_seed=hash_seed,
            witness=self.witness and not watched, recording=Recording(), read=(ENTERED_FILE,),
        )  # fmt: skip
        trial = run_trial(self.backend, self.task.world, self.task.artifact, order, self.limits)
        self.runs += 1
        self.events += trial.events
        return trial.recorded or {}, read_entered(trial.found.get(ENTERED_FILE, b""))

    def call(
        self, calls: Calls, diffs: Sequence[str] = (), place: Place = BARE, hash_seed: str = "0",
        traced: Mapping[str, Sequence[int]] = MappingProxyType({}),
    ) -> Outcomes:  # fmt: skip
        """What the calls do."""
        called = self._caller.make(calls, diffs, place, hash_seed, traced)
        self.events += [event for event in called.events if not (traced and event[0] == "tracing")]
        return called.outcomes

    @cached_property
    def _caller(self) -> Caller:
        return Caller(self.backend, self.task, max(self.oracle.seconds, CALLS_SECONDS), self.limits, each=CALL_SECONDS)


def observe(
    backend: Backend, task: Task, oracle: Oracle, limits: Limits = Limits(), *, witness: bool = False
) -> Behaviour:
    """Try probes on the original, twice, and on the buggy program; the result has none where the suite cannot be
    probed. `witness`: with what the programs do to their interpreter. Raises `SandboxError` when no sandbox is
    available."""
    bench = _Bench(backend, task, oracle, limits, witness, _python_tests(task, oracle))
    if not bench.files:
        return Behaviour()
    originals = {path: decode(file.content) for path, file in bench.files.items()}
    shown = bench.run(originals, watched=True)[1]
    probes = _probes(bench, originals, shown)
    calls = _calls(bench, shown, _scenarios(bench, probes))
    tests = _tests(bench, probes) if len(calls.right) < KEPT else Behaviour()
    return replace(
        tests, calls=calls.calls, right={**tests.right, **calls.right}, wrong={**tests.wrong, **calls.wrong},
        runs=bench.runs, events=tuple(bench.events),
    )  # fmt: skip


@dataclass(frozen=True)
class _Probes:
    """The F2P tests with other inputs. `files`: by path; `groups`: the probes whose inputs reach the program as no
    test's do, each with its test; `rest`: the other test files; `first`: what the original does."""

    files: Mapping[str, python_probes.Probed] = field(default_factory=dict)
    rest: Mapping[str, str] = field(default_factory=dict)
    groups: Mapping[str, str] = field(default_factory=dict)
    first: Outcomes = field(default_factory=dict)

    def holding(self, probes: Collection[str]) -> dict[str, str]:
        """The test files with these probes alone."""
        return {**self.rest, **{path: python_probes.only(one.text, probes) for path, one in self.files.items()}}


def _probes(bench: _Bench, originals: Mapping[str, str], shown: Entered) -> _Probes:
    """A probe whose inputs do not reach the program, or do so in a test, too, shows nothing that was not shown."""
    seed, wanted = secrets.randbits(64), sorted(bench.oracle.fail_to_pass)
    made = {path: python_probes.probed(path, text, wanted, TRIED, seed) for path, text in originals.items()}
    found = {path: probes for path, probes in made.items() if probes is not None and probes.names}
    if not found or not shown.digests:
        return _Probes()
    rest = {path: python_probes.emptied(text) for path, text in originals.items() if path not in found}
    first, entered = bench.run(rest | {path: one.text for path, one in found.items()}, watched=True)
    groups = {
        name: test for one in found.values() for name, test in one.names.items()
        if set(entered.reached.get(name, ())) - shown.digests
    }  # fmt: skip
    return _Probes(found, rest, groups, first)


def _scenarios(bench: _Bench, probes: _Probes) -> dict[str, tuple[str, str, str]]:
    """Name of a helper -> (its source, the call that plays it, its test), of each probe that needs no runner."""
    every = _test_texts(bench.task)
    found = {}
    for path, one in probes.files.items():
        for probe in (probe for probe in one.names if probe in probes.groups):
            texts = {**every, path: python_probes.only(one.text, {probe})}
            made = scenario(path, texts, probe)
            if made is not None:
                name = f"selfplay_s{len(found)}"
                found[name] = made[0], f"{name}.{made[1]}()", f"{path} {probes.groups[probe]}"
    return found


def _tests(bench: _Bench, probes: _Probes) -> Behaviour:
    """Probes that run as tests do: where too few can be made outside of the runner."""
    groups, first = probes.groups, probes.first
    if not groups:
        return Behaviour()
    buggy = bench.run(probes.holding(groups), bench.task.diffs)[0]
    likely = choose(groups, first, first, buggy, CONSIDERED)
    if not likely:
        return Behaviour()
    again = bench.run(probes.holding(likely), hash_seed=OTHER_SEED)[0]
    chosen = choose(groups, first, again, buggy, KEPT)
    return replace(_behaviour(chosen), files=_with(bench.files, probes.holding(chosen)))


def _calls(bench: _Bench, shown: Entered, scenarios: Mapping[str, tuple[str, str, str]]) -> Behaviour:
    """Calls of the program, far from those of the tests: made of these, and then of those that show the bug; and
    scenarios."""
    seed = secrets.randbits(64)
    texts = original_texts(bench.task.world, [*shown.helpers.values()])
    seen, helpers = helped(
        shown.ordered(SEEN, bench.oracle.fail_to_pass, seed),
        {shown.modules[module]: texts.get(path, "") for module, path in shown.helpers.items()},
    )
    if not seen and not scenarios:
        return Behaviour()
    modules = {module: name for module, name in shown.modules.items() if module not in shown.helpers}
    played = {name: text for name, (text, _, _) in scenarios.items()}
    tried = _Tried(bench, Calls(shown.python, shown.paths, modules, helpers={**helpers, **played}))
    of_tests, tests = tried.add(seen), {call: test for _, call, test in scenarios.values()}
    steps = tried.add(tests)
    tried.add(varied_calls(seen, (), TRIED_CALLS, seed))
    telling = [tried.names[name] for name in tried.telling() if name not in steps]
    known = [source for name, source in tried.names.items() if name not in steps]
    tried.add(varied_calls(telling, known, 2 * TRIED_CALLS, seed + 1))
    made = {name: tried.names[name] for name in tried.telling() if name not in of_tests}
    lines = tried.lines(made.keys() - steps)
    groups = {name: f"{lines[name]} {shape_of(made[name])}" if name in lines else tests[made[name]]
              for name in by_novelty(made, seen)}  # fmt: skip
    return _kept(bench, tried, without_accidents(groups, tried.first, of_tests))


def _kept(bench: _Bench, tried: "_Tried", groups: Mapping[str, str]) -> Behaviour:
    """Of these calls those that do the same in a user's place, and when no others are made between them."""
    likely = choose(groups, tried.first, tried.first, tried.buggy, CONSIDERED_CALLS)
    if not likely:
        return Behaviour()
    every = replace(tried.calls, sources=tried.names)
    again = bench.call(_only(every, likely), (), users_place(), OTHER_SEED)
    chosen = choose(groups, tried.first, again, tried.buggy, KEPT_CALLS)
    alone = bench.call(_only(every, chosen)) if chosen else {}
    chosen = choose({name: groups[name] for name in chosen}, again, alone, tried.buggy, KEPT_CALLS)
    return replace(_behaviour(chosen), calls=_only(every, chosen))


@dataclass
class _Tried:
    """Calls that the original and the buggy program made."""

    bench: _Bench
    calls: Calls
    names: dict[str, str] = field(default_factory=dict)
    first: dict[str, Mapping[str, str]] = field(default_factory=dict)
    buggy: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def add(self, sources: Iterable[str]) -> Collection[str]:
        """Make these; returns their names."""
        fresh = {f"c{at}": source for at, source in enumerate(sources, len(self.names))}
        if fresh:
            self.names.update(fresh)
            calls = _only(replace(self.calls, sources=fresh), fresh)
            self.buggy.update(self.bench.call(calls, self.bench.task.diffs))
            self.first.update(self.bench.call(calls))
        return fresh.keys()

    def telling(self) -> list[str]:
        """Those that differ."""
        return [*choose(self.names, self.first, self.first, self.buggy, len(self.names))]

    def lines(self, names: Collection[str]) -> dict[str, str]:
        """Which lines of what the bug changes run in these calls."""
        calls = _only(replace(self.calls, sources=self.names), names)
        found = self.bench.call(calls, traced=changed_lines(self.bench.task)) if names else {}
        return {name: found.get(name, {}).get(f"{name}/lines", "") for name in names}


def _behaviour(chosen: Mapping[str, tuple[dict[str, str], dict[str, str]]]) -> Behaviour:
    right, wrong = ({name: both[side] for name, both in chosen.items()} for side in (0, 1))
    return Behaviour(right=right, wrong=wrong)


def _only(calls: Calls, names: Collection[str]) -> Calls:
    """These calls, with the helpers that they need."""
    sources = {name: calls.sources[name] for name in calls.sources if name in names}
    text = " ".join(sources.values())
    helpers = {name: source for name, source in calls.helpers.items() if f"{name}." in text}
    return replace(calls, sources=sources, helpers=helpers)


def _test_texts(task: Task) -> dict[str, str]:
    """The Python files of the tests, and those beside them."""
    original = Original(task.world)
    folders = {PurePosixPath(path).parent.as_posix() for path in task.artifact.test_files if path.endswith(".py")}
    beside = {path for folder in folders - {"."} for path in original.below(folder) if path.endswith(".py")}
    return original_texts(task.world, sorted(beside | {one for one in task.artifact.test_files if one.endswith(".py")}))


def _python_tests(task: Task, oracle: Oracle) -> dict[str, TestFile]:
    """The Python files with tests that decide."""
    files = read_originals(task.world, task.artifact.test_files)
    return {path: files[path] for path in deciding(files, oracle.wanted) if path.endswith(".py")}


def _with(files: Mapping[str, TestFile], texts: Mapping[str, str]) -> dict[str, TestFile]:
    """The test files with these texts."""
    return {path: replace(files[path], content=encode(text)) for path, text in texts.items()}
