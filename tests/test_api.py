"""The public names, as a program uses them: the page that shows them is true."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from run_fixtures import Command, selfplay, shop, together

import selfplay as package

__all__ = ["selfplay", "shop", "together"]

PAGE = Path(__file__).parent.parent / "docs" / "api.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def test_every_name_is_there_and_named_on_the_page() -> None:
    for name in package.__all__:
        assert getattr(package, name) is not None and name in PAGE.read_text()
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing


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
    exec(compile("import selfplay\n" + BLOCKS[1], str(PAGE), "exec"), {})
    assert capsys.readouterr().out == "gave_up\n"
