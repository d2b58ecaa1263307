"""Numbers that cannot work are refused with the order, from the command line and from a program."""

from pathlib import Path

import pytest
from run_fixtures import Command

from selfplay.commands.order import Order
from selfplay.commands.ranges import RANGES
from selfplay.commands.solve import SolveOrder
from selfplay.rollout.scheduler import RolloutError


@pytest.mark.parametrize("name", [name for name in RANGES if name != "order"])
def test_a_number_outside_of_its_range_is_refused(name: str) -> None:
    least, most = RANGES[name]
    for kind, given in ((Order, {"source": "pypi:x", "out": Path("x")}), (SolveOrder, {"run": Path("x")})):
        if name in kind.__dataclass_fields__:
            for value in (least, most):
                kind(**given, **{name: value})
            for value in (least - 1, most + 1):
                with pytest.raises(RolloutError, match=f"{name} is {value}, and must lie between"):
                    kind(**given, **{name: value})


def test_the_commands_say_so(selfplay: Command, tmp_path: Path) -> None:
    many = 10**26
    for command, option in (("curriculum", "--seed"), ("solve", "--attempts")):
        done = selfplay.here(command, tmp_path, option, many)
        assert done.code == 2 and f"{option[2:]} is {many}, and must lie between" in done.err, done.err
    assert list(tmp_path.iterdir()) == []
