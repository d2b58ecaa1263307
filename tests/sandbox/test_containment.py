"""Every attack on every backend: what it got, what is left of it on the host, what a neighbour felt.

`WRITE_DOCS=1` writes the table in `docs/abuse.md` anew; without it the table must name the same cases and outcomes.
Times vary with the machine and are those of the run that wrote it.
"""

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from selfplay.sandbox import Backend, Sandbox, World

from .attacks import ATTACKS, SMALL, Attack, tries
from .escapes import ESCAPES, escapes
from .greed import ENDED, GREED
from .outside import left_in_the_end, ticks, traces
from .refusals import REFUSALS

pytestmark = [pytest.mark.slow, pytest.mark.alone]  # looks at what is left on the machine

NEIGHBOUR_SECONDS = 5.0
"""What a neighbour's command may take, on a loaded machine of two cores, while an attack uses both."""
ATTACKED_AND_ALIVE = (0, -9)
"""A command after the attack runs; or it is killed, where the attack left the sandbox's memory full."""
TABLE = Path(__file__).parents[2] / "docs" / "abuse.md"
MARK = "<!-- generated below -->\n"
ROWS: dict[tuple[str, str], tuple[str, float, float]] = {}
NOT_LIMITED: set[tuple[str, str]] = set()
"""Attacks that fill what nothing limits for a whole sandbox on this machine: they are not tried."""


def network(sandbox: Sandbox) -> str:
    """The host's loopback, an abstract socket of the host, an address outside."""
    with socket.socket() as loopback, socket.socket(socket.AF_UNIX) as abstract:
        loopback.bind(("127.0.0.1", 0))
        name = f"selfplay-test-{os.getpid()}"
        abstract.bind("\0" + name)
        for listener in (loopback, abstract):
            listener.listen()
        refused, unreachable = "111", "101"  # ECONNREFUSED, ENETUNREACH
        found = tries(sandbox, *escapes(loopback.getsockname()[1], name))
    assert found == [refused, refused, unreachable]
    assert sandbox.run("grep -c : /proc/net/dev", timeout=10).stdout == b"1\n"  # lo
    return "only a loopback of its own"


ALL = (*ATTACKS, *GREED, *ESCAPES, *REFUSALS, Attack("network, abstract socket", network))


@pytest.fixture(scope="module")
def neighbour(backend: Backend) -> Iterator[Sandbox]:
    with backend.open(World(), SMALL) as opened:
        yield opened


@contextlib.contextmanager
def latencies(neighbour: Sandbox) -> Iterator[list[float]]:
    """Seconds of each of the neighbour's commands, one after the other, while the context is open."""
    found: list[float] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            started = time.monotonic()
            neighbour.run(["true"], timeout=60)
            found.append(time.monotonic() - started)
            over.wait(0.02)

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("attack", ALL, ids=lambda attack: attack.name)
def test_an_attack_is_contained(backend: Backend, neighbour: Sandbox, attack: Attack) -> None:
    holder = backend.enforcement().get(attack.limit, "")  # type: ignore[attr-defined]
    if holder == "nothing" or "alone" in holder:
        NOT_LIMITED.add((attack.name, backend.name))
        pytest.skip(f"nothing limits the {attack.limit} of a whole sandbox here")
    with latencies(neighbour) as felt, backend.open(World(), SMALL) as victim:
        of = traces(backend, victim)
        outcome = attack.run(victim)
        if outcome != ENDED:
            assert victim.run("true", timeout=20).exit_code in ATTACKED_AND_ALIVE
        started, ended = time.monotonic(), ticks()
        victim.close()
        assert left_in_the_end(of, ended) == []
        seconds = time.monotonic() - started
    assert max(felt) < NEIGHBOUR_SECONDS
    ROWS[attack.name, backend.name] = (outcome, seconds, max(felt))


@pytest.mark.docker
def test_the_table_is_up_to_date() -> None:
    """Every attack on every backend has its row, and what this machine could try came out as it says."""
    if len(ROWS) + len(NOT_LIMITED) < 2 * len(ALL):
        pytest.fail("the table holds every attack on every backend: run the whole file")
    if os.environ.get("WRITE_DOCS") and not NOT_LIMITED:
        TABLE.write_text(TABLE.read_text().partition(MARK)[0] + MARK + table())
    written = rows(TABLE.read_text().partition(MARK)[2])
    assert written.keys() == ROWS.keys() | NOT_LIMITED, "WRITE_DOCS=1 writes it"
    now = {attack: outcome for attack, (outcome, _, _) in ROWS.items()}
    # Whom the kernel kills first where agent and commands share a control group is not the same every time.
    other = [one for one in now if now[one] != written[one] and ENDED not in (now[one], written[one])]
    assert other == [], "WRITE_DOCS=1 writes it"


def table() -> str:
    lines = [
        f"\n{len(ALL)} attacks on {len({backend for _, backend in ROWS})} backends, none of which got out.\n",
        "| attack | backend | what happened | gone from the host after, ms | a neighbour's slowest command, ms |",
        "|---|---|---|---|---|",
    ]
    for attack in ALL:
        for (name, backend), (outcome, seconds, felt) in sorted(ROWS.items()):
            if name == attack.name:
                lines.append(f"| {name} | {backend} | {outcome} | {seconds * 1000:.0f} | {felt * 1000:.0f} |")
    return "\n".join(lines) + "\n"


def rows(text: str) -> dict[tuple[str, str], str]:
    """(attack, backend) -> what happened, of a table."""
    cells = [[cell.strip() for cell in line.split("|")] for line in text.splitlines() if line.startswith("| ")]
    return {(name, backend): outcome for _, name, backend, outcome, *_ in cells[1:]}
