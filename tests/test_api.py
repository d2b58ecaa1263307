"""The public names, as a program uses them: the page that shows them is true."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from curriculum.stored_results import result
from run_fixtures import Command, selfplay, shop, together

import selfplay as package
from selfplay.curriculum import Attempt, open_curriculum
from selfplay.curriculum.summary import summarise

__all__ = ["selfplay", "shop", "together"]

PAGE = Path(__file__).parent.parent / "docs" / "api.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_every_name_is_there_and_named_on_the_page() -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None and name in PAGE.read_text()
    assert dir(package) == sorted(package.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing


def test_a_program_on_the_page_needs_no_name_that_may_move() -> None:
    for block in BLOCKS:
        assert not re.search(r"selfplay\.\w+ import|import selfplay\.|selfplay\.[a-z_]+\.", block), block


def test_a_documented_key_of_a_summary_is_there(tmp_path: Path) -> None:
    keys = re.findall(r"^\| (`.*?)(?:, in a row)? \|", PAGE.read_text(), re.MULTILINE)
    with open_curriculum(tmp_path) as pool:
        pool.episodes.store(result(0))
        pool.episodes.take(1)
        pool.attempts.add(Attempt("b.0", "p", 0, True, "resolved", "", ""))
        summary = summarise(pool)
    recorded = {"wanted", "stopped", "suite"}  # of the order
    row = summary["bugs"][0]
    assert {*summary, *row, *recorded} >= {name for key in keys for name in re.findall(r"`(\w+)`", key)}
    assert {"id", "strategy", "files", "changed_lines", "fail_to_pass", "pass_to_pass", "seconds", "solved"} <= set(row)
    assert row["solved"] == {"p": {"resolved": 1, "attempts": 1}}
    assert {"bugs", "episodes", "valid_share", "by_strategy", "statuses", "failed_checks"} <= set(summary["figures"])
    assert {"order_1", "order_2", "reasons", "seconds"} <= set(summary["solving"]["p"])


def test_importing_the_package_loads_none_of_its_rooms() -> None:
    code = "import sys, selfplay; print(sorted(name for name in sys.modules if name.startswith('selfplay')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "['selfplay', 'selfplay.version']\n"


@pytest.mark.long
def test_the_program_on_the_page(
    selfplay: Command, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first block, on a small project, with an empty patch as the prediction."""
    monkeypatch.setenv("SELFPLAY_CACHE", str(selfplay.cache))
    monkeypatch.chdir(tmp_path)
    Path("fix.diff").write_text("")
    program = BLOCKS[0].replace('"pypi:sqlparse==0.5.3"', repr(str(shop))).replace("bugs=10", "bugs=1, workers=2")
    exec(compile(program, str(PAGE), "exec"), {})
    said = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"shop-\S+ \d+ \[(True|False), (True|False)\]", said[0]), said
    assert said[-1].startswith("False empty ")


def test_the_episode_on_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(BLOCKS[1], str(PAGE), "exec"), {})
    assert capsys.readouterr().out == "gave_up\n"
