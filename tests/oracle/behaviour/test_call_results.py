"""Calls that were made on both programs: one that ends its process, or hangs, costs the others little."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

from selfplay.oracle.behaviour.agreeing_calls import _agreed
from selfplay.oracle.behaviour.call_results import TriedCalls
from selfplay.oracle.behaviour.call_runner import Calls
from selfplay.oracle.behaviour.call_selection import add_by_turns
from selfplay.oracle.behaviour.probe_runner import Bench
from selfplay.oracle.behaviour.stored_behaviour import UNMADE, Outcomes


class _Bench:
    """Answers every call with its source; a process with a call that `ends` it gives nothing. The buggy program stops
    making calls after `made`."""

    task = SimpleNamespace(diffs=("bug",))

    asserted: frozenset[str] = frozenset()

    def __init__(self, ends: str = "", made: int = 1000) -> None:
        self.ends, self.made, self.sizes = ends, made, list[int]()

    def call(self, calls: Calls, diffs: Sequence[str] = ()) -> Outcomes:
        self.sizes.append(len(calls.sources))
        if self.ends in calls.sources.values():
            return {}
        said = {name: {f"{name}/0": f'"{source} {len(diffs)}"'} for name, source in calls.sources.items()}
        late = [*said][self.made :] if diffs else []
        return said | {name: {f"{name}/0": UNMADE} for name in late}


def tried(bench: _Bench) -> TriedCalls:
    return TriedCalls(cast(Bench, bench), Calls())


def test_a_call_that_ends_the_process_loses_a_quarter_at_most() -> None:
    """Of 100 calls the seventh ends it: the whole, the first half and the first quarter are lost."""
    bench = _Bench("m.f(7)")
    made = tried(bench)
    names = made.add(f"m.f({at})" for at in range(100))
    assert len(names) == 100 and [*made.first] == [*made.buggy] == names[25:]
    assert bench.sizes == [100, 50, 25, 25, 25, 25, 50, 50]


def test_what_the_buggy_program_does_not_come_to_is_no_behaviour() -> None:
    made = tried(_Bench(made=3))
    names = made.add(f"m.f({at})" for at in range(9))
    assert made.telling() == [*made.first] == names[:3]


def test_what_the_original_does_not_come_to_is_no_behaviour_either() -> None:
    made = tried(_Bench())
    (name,) = made.add(["m.f(1)"])
    made.first[name] = {f"{name}/0": UNMADE}
    assert made.telling() == []
    made.buggy[name] = made.first[name]
    assert _agreed(made, []) == {}


def test_the_parts_of_a_batch_are_made_in_turn() -> None:
    made = tried(_Bench())
    parts = add_by_turns(made, ["a", "b", "c"], [], ["d"])
    assert [*made.names.values()] == ["a", "d", "b", "c"]
    assert [[made.names[name] for name in part] for part in parts] == [["a", "b", "c"], [], ["d"]]
