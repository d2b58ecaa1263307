"""`selfplay curriculum LIST.txt`: bugs of several repositories in one pool, and every command on such a pool."""

import json
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest
import tiny_repository
import tiny_shop
from copied_runs import copy_of
from run_fixtures import Command, Done, done_once

from selfplay.artifact import load_bug
from selfplay.commands.order import Order
from selfplay.commands.source_list import SourceListError, read_list
from selfplay.curriculum import read_pool

BASE = Order("list.txt", Path("run"), bugs=3)
WITHOUT_TESTS = {"a.py": "x = 1\n", "pyproject.toml": tiny_shop.PYPROJECT}


def listed(folder: Path, text: str) -> Path:
    path = folder / "list.txt"
    path.write_text(text)
    return path


def test_what_a_line_may_say(tmp_path: Path) -> None:
    first, second, third = read_list(
        listed(
            tmp_path,
            "# a list\n\npypi:toolz\n  pypi:mistune==3.0.2 bugs=5 releases=2   # the end\n"
            f"'{tmp_path}' setup='pip install -e \".[test]\"' test='pytest tests' allow-host=a.org,b.org:8443\n",
        ),
        BASE,
    )
    assert (first.source, first.bugs, first.out) == ("pypi:toolz", 3, BASE.out)
    assert (second.source, second.bugs, second.releases) == ("pypi:mistune==3.0.2", 5, 2)
    assert (third.source, third.setup, third.test) == (str(tmp_path), 'pip install -e ".[test]"', "pytest tests")
    assert third.allow_hosts == ("a.org", "b.org:8443")


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("svn://x/y", "the scheme 'svn' is not supported"),
        ("/no/such/folder", "does not exist"),
        ("~nosuchuser/x", "'~nosuchuser/x': no home of a user is known by that name"),
        ("pypi:toolz", "is already in line 1"),
        ("pypi:Toolz", "is already in line 1"),
        ("pypi:a bugs=0", "the option bugs"),
        ("pypi:a bugs=many", "the option bugs"),
        ("pypi:a colour=red", "there is no option 'colour' The options are: allow_host, bugs"),
        ("pypi:a nonsense", "'nonsense' is not NAME=VALUE"),
        ("pypi:a test='x", "No closing quotation"),
        ("pypi:a strategy=feature", "adds no features"),
        ("pypi:a strategy=evil", "the option strategy"),
        ("https://h/a releases=1", "releases needs a source pypi:NAME"),
        ("pypi:a allow-host=http://x", "http://x"),
    ],
)
def test_every_broken_line_is_named(tmp_path: Path, line: str, why: str) -> None:
    with pytest.raises(SourceListError) as error:
        read_list(listed(tmp_path, f"pypi:toolz\n\n{line}\npypi:boltons\nnothing:\n"), BASE)
    assert "2 lines cannot be used" in str(error.value) and "line 5: " in str(error.value)
    assert f"line 3: {error.value.message.split('line 3: ')[1]}" in str(error.value)
    assert why in error.value.message.split("line 3: ")[1].split("\n")[0]


@pytest.mark.parametrize("text", ["", "# nothing\n\n"])
def test_a_list_that_names_nothing(tmp_path: Path, text: str) -> None:
    with pytest.raises(SourceListError, match="names no source"):
        read_list(listed(tmp_path, text), BASE)


def test_a_list_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SourceListError, match="cannot be read"):
        read_list(path, BASE)


def test_what_differs_by_repository_is_refused_for_all(selfplay: Command, tmp_path: Path) -> None:
    done = selfplay.here("curriculum", listed(tmp_path, "pypi:toolz\n"), "--test", "pytest", "--out", tmp_path / "r")
    assert done.code == 2 and "differs by repository" in " ".join(done.err.split()) and not (tmp_path / "r").exists()


@pytest.fixture(scope="session")
def listing(shop: Path, together: Path) -> Path:
    """A repository that cannot work, the shop, and one that differs from it in a file."""
    folder = together / "listing"
    if not folder.exists():
        other = {**tiny_repository.FILES, "README.md": "another shop\n"}
        tiny_repository.make(folder / "broken", WITHOUT_TESTS, past=())
        tiny_repository.make(folder / "other", other)
        listed(folder, f"{folder / 'broken'}\n{shop} bugs=3\n{folder / 'other'}\n")
    return folder / "list.txt"


@pytest.fixture(scope="session")
def several(selfplay: Command, listing: Path, together: Path) -> tuple[Path, Done]:
    return done_once(together / "several", lambda out: selfplay(*asked(listing, out), "--json"))


def asked(listing: Path, out: Path) -> tuple[object, ...]:
    return ("curriculum", listing, "--out", out, "--bugs", 2, "--seed", 3, "--workers", 2)


def rows(summary: Any) -> dict[str, dict[str, Any]]:
    return {Path(row["name"]).name: row for row in summary["repositories"]}


@pytest.mark.long
def test_one_that_fails_never_ends_the_run(several: tuple[Path, Done], shop: Path) -> None:
    out, done = several
    assert done.code == 1, done.err
    found = rows(done.json)
    assert list(found) == ["broken", "shop", "other"] and done.json["wanted"] == 7
    assert [row["bugs"] for row in found.values()] == [0, 3, 2] and done.json["figures"]["bugs"] == 5
    assert found["broken"]["failed"] and "no test" in found["broken"]["stopped"] and found["broken"]["hint"]
    for name in ("shop", "other"):
        row = found[name]
        assert row["minutes"] > 0 and 0 < row["valid_share"] <= 1 and sum(row["by_strategy"].values()) == row["bugs"]
        assert row["stopped"] == "enough bugs" and row["tests"] == tiny_shop.COUNT
    assert json.loads((out / "summary.json").read_text()) == done.json


@pytest.mark.slow
def test_each_original_and_trajectory_has_its_place(several: tuple[Path, Done], shop: Path) -> None:
    """The places of the list: the shop is the second, the other the third, and so are their folders' names."""
    out, _ = several
    with read_pool(out) as pool:
        trees = {load_bug(out / "bugs" / bug.id).tree_hash: pool.homes()[bug.id] for bug in pool.bugs()}
        found = {Path(trees[tree]).name: path.name for tree, path in pool.episodes.originals().items()}
        names = {(Path(one.repository).name, one.trajectory) for one in pool.episodes.records()}
    assert found == {"shop": "original-2", "other": "original-3"} and not (out / "original").exists()
    assert (out / "original-3/README.md").read_text() == "another shop\n"
    assert all((out / "trajectories" / trajectory).is_file() for _, trajectory in names)
    assert {("shop", "000000-2-injector.jsonl.zst"), ("other", "000000-3-injector.jsonl.zst")} <= names


@pytest.mark.long
def test_the_same_command_makes_nothing_twice_and_a_longer_list_goes_on(
    selfplay: Command, several: tuple[Path, Done], listing: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run"
    copy_of(several[0], out)
    done = selfplay(*asked(listing, out))
    assert done.code == 1 and "episode" not in done.err and "1 of 1 repository" in done.err, "only what failed"
    assert "no test" in done.out and "not finished" not in done.out
    other, before = str(listing.parent / "other"), [bug["id"] for bug in several[1].json["bugs"]]
    longer = listed(tmp_path, listing.read_text().replace(other, f"{other} bugs=3"))
    more = selfplay(*asked(longer, out), "--json").json["bugs"]
    assert len(more) == 6 and [bug["id"] for bug in more[:5]] == before
    refused = selfplay(*asked(listed(tmp_path, f"{other} strategy=direct bugs=4\n"), out))
    assert refused.code == 1 and "was made with" in refused.out and "strategy" in refused.out


@pytest.mark.long
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_run_goes_on(
    selfplay: Command, several: tuple[Path, Done], listing: Path, tmp_path: Path, how: signal.Signals
) -> None:
    """Stopped in the middle of the second repository, and of the third, it makes the same bugs in the end."""
    out = tmp_path / "run"
    for after in ("list.txt", "original-3"):
        with selfplay.running(*asked(listing, out)) as running:
            running.until("2 of 3" if after == "original-3" else "gave a bug")
            running.ends_by(how)
    done = selfplay(*asked(listing, out), "--json")
    assert done.code == 1, done.err
    assert [bug["id"] for bug in done.json["bugs"]] == [bug["id"] for bug in several[1].json["bugs"]]


@pytest.mark.long
def test_every_command_takes_such_a_pool(selfplay: Command, several: tuple[Path, Done], tmp_path: Path) -> None:
    out, made = tmp_path / "run", several[1].json
    copy_of(several[0], out)
    shown = selfplay("show", out)
    assert shown.code == 0 and "Repositories" in shown.out and "5 of 7 bugs" in shown.out
    checked = selfplay("validate", out)
    assert checked.code == 0 and "5 of 5 bugs valid" in checked.out, checked.err
    gold = selfplay("solve", out, "--policy", "gold", "--attempts", 1, "--json")
    assert gold.code == 0, gold.err
    assert {bug["id"]: bug["solved"] for bug in gold.json["bugs"]} == {
        bug["id"]: {"gold": {"resolved": 1, "attempts": 1}} for bug in made["bugs"]
    }
    last = made["bugs"][-1]["id"]
    assert selfplay("audit", out / "bugs" / last).code == 0
    assert "another shop" in (out / "original-3/README.md").read_text()
    taught = selfplay("trajectories", "demonstrate", out)
    counts = [len(list((out / "trajectories").glob(f"*-demonstration-{role}*"))) for role in ("injector", "solver")]
    assert taught.code == 0 and counts == [5, 5], taught.err
    assert selfplay("trajectories", "export", out, "--out", tmp_path / "lessons.jsonl.zst").code == 0


@pytest.mark.long
def test_an_original_that_is_gone_leaves_the_other_bugs(
    selfplay: Command, several: tuple[Path, Done], tmp_path: Path
) -> None:
    """The bugs of the other repository are attempted; the command says what is missing, and ends with 2."""
    out = tmp_path / "run"
    copy_of(several[0], out)
    shutil.rmtree(out / "original-2")
    done = selfplay("solve", out, "--policy", "gold", "--attempts", 1)
    assert done.code == 2 and "original-2 is gone" in done.err
    with read_pool(out) as pool:
        homes = pool.homes()
        assert {Path(homes[one.bug]).name for one in pool.attempts.all()} == {"other"}
