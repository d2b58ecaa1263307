"""How a test is run by somebody who knows the repository."""

import pytest

from selfplay.repository import Suite
from selfplay.sft.reproduction import command

JAVASCRIPT = 'PATH="$PWD/node_modules/.bin:$PATH"'


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        (Suite((), {}), "python3 -m pytest -q --tb=short t.py"),
        (
            Suite((), {}, failing=("t.py::b", "u.py::c"), flaky=("t.py::a b",), options=("-p", "no:x")),
            "python3 -m pytest -q --tb=short -p no:x '--deselect=t.py::a b' --deselect=t.py::b t.py",
        ),
        (Suite((), {}, command="make test"), "make test"),
        (Suite((), {}, runner="node"), "node --test t.py"),
        (Suite((), {}, runner="mocha", options=("A=b c", "--ui")), f"export 'A=b c'; {JAVASCRIPT} mocha --ui t.py"),
        (Suite((), {}, runner="go"), "go test -vet=off ./..."),
    ],
)
def test_the_command_of_each_framework(suite: Suite, said: str) -> None:
    """Of pytest, what fails without a bug is left out, in the file that is run; Go takes packages, so all are run."""
    assert command(suite, ["t.py", "t.py"]) == said
