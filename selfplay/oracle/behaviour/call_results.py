"""Calls that were made on the original and on the buggy program, with their outcomes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from selfplay.oracle.behaviour.call_runner import Calls
from selfplay.oracle.behaviour.probe_runner import Bench
from selfplay.oracle.behaviour.stored_behaviour import UNMADE, Looks, Outcomes, choose

HALVINGS = 2
"""How often the calls of a lost process are halved and made again."""
SCENARIO = "selfplay_s"
"""Prefix of the names of scenario modules in calls."""


@dataclass
class TriedCalls:
    """`names`: name -> call; the names begin with `prefix`."""

    bench: Bench
    calls: Calls
    prefix: str = "c"
    names: dict[str, str] = field(default_factory=dict)
    first: dict[str, Mapping[str, str]] = field(default_factory=dict)
    buggy: dict[str, Mapping[str, str]] = field(default_factory=dict)

    def add(self, sources: Iterable[str]) -> Sequence[str]:
        """Make these calls; returns their names."""
        fresh = {f"{self.prefix}{at}": source for at, source in enumerate(sources, len(self.names))}
        if fresh:
            self.names.update(fresh)
            self._make(fresh, HALVINGS)
        return [*fresh]

    def _make(self, fresh: Mapping[str, str], halvings: int) -> None:
        """Make these calls; if a process is lost, each half of them apart, since one call may end it."""
        calls = only(replace(self.calls, sources=fresh), fresh)
        buggy = self.bench.call(calls, self.bench.task.diffs)
        made = [name for name in fresh if UNMADE not in buggy.get(name, {}).values()]
        first = self.bench.call(only(calls, made)) if buggy or not halvings else {}
        if first or not halvings or len(fresh) < 2:
            self.buggy.update(buggy)
            self.first.update(first)
            return
        names, middle = [*fresh], len(fresh) // 2
        for half in (names[:middle], names[middle:]):
            self._make({name: fresh[name] for name in half}, halvings - 1)

    def looks(self, *again: Outcomes) -> Looks:
        """What was seen, with the last two of `again` as the looks at the original; by default there was one."""
        first, second = (self.first, self.first, *again)[-2:]
        return Looks(first, second, self.buggy, self.bench.asserted)

    def telling(self) -> list[str]:
        """The calls on which the two programs differ."""
        return [*choose(self.names, self.looks(), len(self.names))]

    def lines(self, names: Collection[str]) -> dict[str, str]:
        """The lines of the changed functions that run in these calls."""
        calls = only(replace(self.calls, sources=self.names), names)
        found = self.bench.lines(calls) if names else {}
        return {name: found.get(name, "") for name in names}


def only(calls: Calls, names: Collection[str]) -> Calls:
    """Only these calls, with the helpers they need."""
    sources = {name: calls.sources[name] for name in calls.sources if name in names}
    text = " ".join(sources.values())
    helpers = {name: source for name, source in calls.helpers.items() if f"{name}." in text}
    return replace(calls, sources=sources, helpers=helpers)
