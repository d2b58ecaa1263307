"""Calls are made in two places, and what differs between them is caught; the second run of tests has another order."""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from selfplay.oracle import inside
from selfplay.oracle.assurance import weaknesses
from selfplay.oracle.behaviour.call_runner import Calls
from selfplay.oracle.behaviour.compare import _tests_alone, apart, judge, within_the_runner
from selfplay.oracle.behaviour.contexts import BARE, users_place
from selfplay.oracle.behaviour.stored_behaviour import Behaviour
from selfplay.sandbox import World

CALLS = [f"c{number}" for number in range(10)]
KNOWN = Behaviour(
    calls=Calls(sources=dict.fromkeys(CALLS, "m.f()")),
    right={call: {f"{call}/0": "1"} for call in CALLS},
    wrong={call: {f"{call}/0": "2"} for call in CALLS},
)


def seen(*differing: str) -> dict[str, dict[str, str]]:
    return {call: {f"{call}/0": "3" if call in differing else "1"} for call in CALLS}


def test_a_tenth_of_the_calls_may_depend_on_the_place() -> None:
    """Of ten one may, two may not, in whichever of the places; what is printed there alone is no outcome."""
    printed = {call: {**places, f"{call}/1": "4"} for call, places in seen().items()}
    assert apart(KNOWN, seen(), seen("c1")) is None is apart(KNOWN, seen(), printed)
    for first, other in ((seen(), seen("c1", "c2")), (seen("c1"), seen("c2"))):
        layer = apart(KNOWN, first, other)
        assert layer is not None and layer.state == "caught" and "2 of 10" in layer.reason


def test_what_was_seen_within_the_runner_alone_is_weak() -> None:
    alone = Behaviour(right=KNOWN.right, wrong=KNOWN.wrong)
    layer = within_the_runner(alone, judge(alone, seen()))
    assert layer.state == "unavailable" and any(one.startswith("behaviour: 0 calls") for one in weaknesses([layer]))
    assert within_the_runner(alone, judge(alone, {})).state == "caught"


def test_a_users_place_is_drawn_and_looks_like_no_test() -> None:
    world = World(env={"PATH": "/testbed/bin:/usr/bin"})
    drawn = {users_place() for _ in range(20)}
    assert len(drawn) > 10
    for place in drawn:
        assert place.path("/testbed/src") == f"{place.root}/src" and place.path("/testbed") == place.root
        assert place.path("/testbeds") == "/testbeds" and place.world(world).folders == (place.home,)
        start = place.script(world, "/usr/bin/python3", "pass", "7").partition("printf")[2]
        assert not any(word in start.replace("/testbed/bin:", "") for word in ("test", "selfplay", "oracle"))
    assert BARE.path("/testbed/src") == "/testbed/src" and BARE.world(world) == world


@dataclass
class Node:
    """A test, a class or a module, as pytest has them."""

    nodeid: str
    around: "Node | None" = None

    def listchain(self) -> list["Node"]:
        return [*(self.around.listchain() if self.around else ()), self]


def test_another_order_keeps_modules_and_classes_together() -> None:
    tree = ast.parse(inside.text("selfplay_witness.py"))
    space: dict[str, Any] = {"sha256": sha256}
    chosen: list[ast.stmt] = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "shuffled"]
    exec(compile(ast.Module(chosen, []), "witness", "exec"), space)
    shuffled: Callable[[list[Node], str], None] = space["shuffled"]
    modules = [Node(f"{name}.py") for name in "abcd"]
    items = [Node(f"{module.nodeid}::test_{number}", module) for module in modules for number in range(5)]
    orders = set()
    for seed in "123":
        shuffled(items, seed)
        names = [one.around.nodeid for one in items if one.around]
        assert all(names[at : at + 5] == [names[at]] * 5 for at in range(0, 20, 5))
        orders.add(tuple(one.nodeid for one in items))
    assert len(orders) == 3


def test_calls_that_are_too_few_to_be_made_are_not_missed() -> None:
    """Five tests and two calls: with the calls, two of seven outcomes would lack, and five of seven are less than the
    share that a repair needs."""
    right = {f"t{number}": {"0": "1"} for number in range(5)}
    wrong = {name: {"0": "2"} for name in right}
    both = {"c1": {"c1/0": "1"}, "c2": {"c2/0": "1"}}
    few = Behaviour(calls=Calls(sources=dict.fromkeys(both, "m.f()")), right=right | both, wrong=wrong | both)
    assert judge(few, right).state == "caught"
    alone = _tests_alone(few)
    assert judge(alone, right).state == "passed"
    assert "2 calls could be made" in within_the_runner(alone, judge(alone, right)).reason
