"""Where a run goes when nobody says."""

from pathlib import Path

import pytest
import typer
from run_fixtures import Command
from typer.core import TyperGroup

from selfplay.cli import app
from selfplay.commands.default_out import default_out, made_of, name_of
from selfplay.curriculum import CurriculumError, open_curriculum
from selfplay.curriculum.trust import remember_run


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("pypi:sqlparse==0.5.3", "sqlparse"),
        ("https://example.org/pallets/jinja.git@3.1.6", "jinja"),
        ("git@example.org:team/my project.git", "my-project"),
        ("image:", "image"),
        ("image:/srv/shop", "shop"),
        (".", "mein-L-den"),
    ],
)
def test_a_run_is_named_after_its_source(
    source: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mein Läden"
    folder.mkdir()
    monkeypatch.chdir(folder)
    assert name_of(source) == name


def test_a_name_that_another_source_has_gets_a_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    one, other = "https://example.org/a/shop", "https://example.org/b/shop"
    assert default_out(one) == Path("runs/shop")
    with open_curriculum(Path("runs/shop")) as pool:
        assert default_out(one) == Path("runs/shop")  # it has no source yet
        pool.settle({"source": one})
    assert default_out(one) == Path("runs/shop")  # resumes
    assert default_out(other) == Path("runs/shop-2")
    Path("runs/shop-2").mkdir()
    (Path("runs/shop-2") / "thesis.txt").touch()
    assert default_out(other) == Path("runs/shop-3")  # what lies there is no run


def test_what_is_made_of_a_run_lies_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = Path("runs/my shop")
    assert made_of(run, "sft") == Path("runs/my-shop-sft")
    for expected in ("runs/my-shop-hf", "runs/my-shop-hf-2"):
        assert made_of(run, "hf", anew=True) == Path(expected)
        (Path(expected) / "train.jsonl").mkdir(parents=True)
    remember_run(Path("runs/my-shop-hf"))
    assert made_of(run, "hf") == Path("runs/my-shop-hf")
    assert made_of(Path(), "hf") == Path("runs") / f"{tmp_path.name}-hf"  # the folder in which one stands


def test_no_command_asks_where_to() -> None:
    found, waiting = [], [typer.main.get_command(app)]
    while waiting:
        command = waiting.pop()
        waiting += command.commands.values() if isinstance(command, TyperGroup) else ()
        found += [(command.name, one.required) for one in command.params if one.name == "out"]
    assert len(found) >= 8
    assert [name for name, required in found if required] == []


@pytest.mark.slow
def test_the_folder_is_said_first(selfplay: Command, shop: Path, tmp_path: Path) -> None:
    done = selfplay("curriculum", shop, "--bugs", 1, "--strategy", "removal", cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.err.splitlines()[0] == "the run's folder is runs/shop (--out names another)"
    assert (tmp_path / "runs" / "shop" / "summary.json").is_file()


def test_no_link_of_a_checkout_says_where_a_run_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkout may hold a link of that name, which leads to what is the user's."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "checkout" / "runs").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "checkout")
    Path("runs/shop").symlink_to(tmp_path / "mine")
    Path("runs/shop-2").symlink_to(tmp_path / "none")
    assert default_out("https://example.org/a/shop") == Path("runs/shop-3")
    assert made_of(Path("shop"), "world", anew=True) == Path("runs/shop-world")
    Path("runs/shop-train").symlink_to(tmp_path / "mine")
    assert default_out("https://example.org/a/shop", "train") == Path("runs/shop-train-2")
    long = f"https://example.org/a/{'x' * 70}"  # a training run is not that of the curriculum
    assert default_out(long, "train") == Path(f"runs/{'x' * 60}-train") != default_out(long)
    Path("runs/shop-lessons").symlink_to(tmp_path / "mine")
    with pytest.raises(CurriculumError, match="runs/shop-lessons is a link"):
        made_of(Path("shop"), "lessons")
    Path("runs/shop-tasks").mkdir()
    assert made_of(Path("shop"), "tasks") == Path("runs/shop-tasks")  # it is empty
    Path("runs/shop-tasks/curriculum.sqlite").touch()
    with pytest.raises(CurriculumError, match="runs/shop-tasks was not made here"):
        made_of(Path("shop"), "tasks")
    remember_run(Path("runs/shop-tasks"))
    assert made_of(Path("shop"), "tasks") == Path("runs/shop-tasks")
    Path("runs").rename("old")
    Path("runs").symlink_to(tmp_path / "mine")
    for asked in (lambda: default_out("https://example.org/a/shop"), lambda: made_of(Path("shop"), "world")):
        with pytest.raises(CurriculumError, match="runs is a link"):
            asked()
