"""Which bugs the gallery shows, and in what order: its own script, run by node. What a browser makes of it is tested in
`tests/interop/report`."""

import json
import subprocess
from pathlib import Path

import pytest

ASSETS = Path(__file__).parents[3] / "selfplay" / "report" / "html" / "assets"


def row(name: str, order: int, strategy: str, rate: list[int] | None, f2p: int, lines: int | None) -> dict[str, object]:
    return {"id": name, "order": order, "strategy": strategy, "rate": rate, "f2p": f2p, "lines": lines,
            "files": [f"src/{name}.py"], "source": "pypi:shop", "policy": "Scripted"}  # fmt: skip


ROWS = [
    row("a", 1, "removal", [1, 2], 3, 10),
    row("b", 1, "history", [0, 2], 9, 30),
    row("c", 2, "removal", [2, 2], 5, None),
    row("d", 1, "direct", None, 7, 20),
]
"""Sometimes, never and always solved; not attempted."""


CASES = [
    ("", "abcd"),
    ("strategy=removal", "ac"),
    ("order=1", "abd"),
    ("order=2", "c"),
    ("solved=sometimes", "a"),
    ("solved=never", "b"),
    ("solved=always", "c"),
    ("solved=untried", "d"),
    ("strategy=removal&order=2", "c"),
    ("q=B.PY", "b"),
    ("q=shop scripted", "abcd"),
    ("q=shop nowhere", ""),
    ("sort=hard", "bacd"),
    ("sort=easy", "cabd"),
    ("sort=failing", "bdca"),
    ("sort=lines", "bdac"),
    ("sort=hard&order=1", "bad"),
]


@pytest.fixture(scope="module")
def shown() -> dict[str, str]:
    """What is asked for -> the bugs that are shown: one process for all."""
    outcome = "function outcome" + (ASSETS / "data.js").read_text().split("function outcome")[1]
    script = "\n".join([
        f"const location = {{}}, run = {json.dumps({'bugs': ROWS})}, found = {{}};",
        (ASSETS / "gallery.js").read_text(), outcome,
        f"for (const asked of {json.dumps([asked for asked, _ in CASES])}) {{",
        "location.hash = `#/bugs?${asked}`; run.bugs.sort((a, b) => (a.id < b.id ? -1 : 1));",
        "found[asked] = chosen().map((row) => row.id).join(''); }",
        "console.log(JSON.stringify(found))",
    ])  # fmt: skip
    done = subprocess.run(["node", "-"], input=script, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("asked", "wanted"), CASES)
def test_what_is_asked_for_is_shown(shown: dict[str, str], asked: str, wanted: str) -> None:
    assert shown[asked] == wanted
