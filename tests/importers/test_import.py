"""Imported tasks are solved, graded and evaluated as those that were made here."""

import json
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

import hand_made
import pytest
import tiny_repository
from run_fixtures import Command, Done

from selfplay.artifact import load_bug
from selfplay.commands import importing
from selfplay.importers.rows import ImportRefused
from selfplay.sandbox import open_backend

WRONG = {
    "shop/__init__.py": "",
    "shop/price.py": "def total(prices):\n    return sum(prices[1:])\n",
    "tests/test_price.py": "from shop.price import total\n\n\ndef test_none():\n    assert total([]) == 0\n",
}
TEST = "\n\ndef test_all():\n    assert total([1, 2]) == 3\n"


@pytest.mark.long
def test_what_was_exported_comes_back(selfplay: Command, finished: tuple[Path, Done], tmp_path: Path) -> None:
    """Export, import, then gold is resolved and empty is not; a second import takes nothing."""
    out, run = tmp_path / "out", tmp_path / "run"
    assert selfplay("export", finished[0], "--out", out).code == 0
    taken = selfplay("import", out, "--out", run, "--json").json
    assert len(taken["tasks"]) == 4 and taken["skipped"] == {}
    assert selfplay("import", out, "--out", run, "--json").json == {"tasks": [], "known": 4, "skipped": {}}
    task = taken["tasks"][0]
    made, came = (load_bug(folder / "bugs" / task) for folder in (finished[0], run))
    same = ("fail_to_pass", "pass_to_pass", "content_hash", "tree_hash", "flaky", "hidden")
    assert all(getattr(made, name) == getattr(came, name) for name in same)
    assert came.imported is not None and (came.seed, came.policy) == (None, None)
    for policy, resolved in (("gold", 1), ("empty", 0)):
        solved = selfplay("solve", run, "--policy", policy, "--attempts", 1, "--bug", task, "--json")
        assert solved.code == 0, solved.err
        found = selfplay("eval", run, "--policy", policy, "--attempts", 1, "--stored", "--json").json
        assert found["rows"][0]["resolved"] == resolved and found["rows"][0]["bugs"] == 1


@pytest.mark.long
def test_a_damaged_original_is_unpacked_once_for_all_its_rows(
    selfplay: Command, finished: tuple[Path, Done], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """300,000 empty files took a minute, for each row that named them."""
    out, opened = tmp_path / "out", list[Path]()
    assert selfplay("export", finished[0], "--out", out).code == 0
    (archive,) = out.rglob("original.tar.gz")
    archive.write_bytes(archive.read_bytes()[:-100])
    unpack = importing._unpack
    monkeypatch.setattr(importing, "_unpack", lambda path, at: (opened.append(path), unpack(path, at)))
    with closing(open_backend()) as backend, pytest.raises(ImportRefused, match="no row of") as caught:
        importing.run_import(importing.ImportOrder(out, tmp_path / "run"), backend, lambda line: None)
    assert "is damaged" in (caught.value.hint or "")
    assert opened == [archive]


@pytest.mark.parametrize("size", [10_000, 30_000_000])
def test_an_original_is_not_packed_more_tightly_than_repositories_are(tmp_path: Path, size: int) -> None:
    """Rows of a dataset of 2.7 MB filled 2.7 GB, one for one; of a repository, a tenth of its bytes is usual."""
    (tmp_path / "made" / "pkg").mkdir(parents=True)
    (tmp_path / "made" / "pkg" / "data").write_bytes(b"a" * size)
    for number in range(40):  # small files take a page each
        (tmp_path / "made" / "pkg" / f"module{number}.py").write_text(f"x = {number}\n")
    with tarfile.open(tmp_path / "original.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "made" / "pkg", "pkg")
    (tmp_path / "out").mkdir()
    if size < 1_000_000:
        importing._unpack(tmp_path / "original.tar.gz", tmp_path / "out")
        assert len(list((tmp_path / "out" / "pkg").iterdir())) == 41
    else:
        with pytest.raises(ImportRefused, match="the original beside the rows is damaged"):
            importing._unpack(tmp_path / "original.tar.gz", tmp_path / "out")


@pytest.fixture
def swebench_row(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    """A repository with a fault, and a row of SWE-bench's form about it."""
    repository = tiny_repository.make(tmp_path / "shop", WRONG, past=())
    commit = subprocess.run(["git", "-C", repository, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    plain = tmp_path / "plain"
    shutil.copytree(repository, plain, ignore=shutil.ignore_patterns(".git"))
    test = (WRONG["tests/test_price.py"], WRONG["tests/test_price.py"] + TEST)
    return repository, {
        "instance_id": "Me__Shop-12", "repo": "me/shop", "base_commit": commit.stdout.strip(), "version": "1.0",
        "patch": hand_made.diff(plain, hand_made.substitute("shop/price.py", "prices[1:]", "prices")),
        "test_patch": hand_made.diff(plain, hand_made.substitute("tests/test_price.py", *test)),
        "problem_statement": "total() forgets the first price.",
        "FAIL_TO_PASS": '["tests/test_price.py::test_all"]', "PASS_TO_PASS": '["tests/test_price.py::test_none"]',
    }  # fmt: skip


@pytest.mark.long
def test_a_row_of_swe_bench_is_solved_and_evaluated(
    selfplay: Command, swebench_row: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    repository, row = swebench_row
    file, run, other = tmp_path / "rows.jsonl", tmp_path / "run", {**row, "instance_id": "b", "repo": "who/knows"}
    file.write_text("\n".join(map(json.dumps, (row, other, {"instance_id": 1}, {**row, "instance_id": "c__c-1"}))))
    done = selfplay("import", file, "--out", run, "--source", f"me/shop={repository}", "--json")
    assert done.code == 0, done.err
    taken = done.json
    assert [name.split(".")[0] for name in taken["tasks"]] == ["me__shop-12", "c__c-1"]
    assert set(taken["skipped"]) == {"rows.jsonl:2", "rows.jsonl:3"}
    assert "--source NAME=SOURCE" in taken["skipped"]["rows.jsonl:2"]
    for policy, resolved in (("gold", 2), ("empty", 0)):
        found = selfplay("eval", run, "--policy", policy, "--attempts", 1, "--json")
        assert found.code == 0, found.err
        assert found.json["rows"][0]["resolved"] == resolved and found.json["rows"][0]["bugs"] == 2
    out = tmp_path / "world"
    handed = selfplay("world", run / "bugs" / taken["tasks"][0], "--out", out, "--json").json
    assert "total() forgets the first price." in (out / "prompt.md").read_text()
    price = out / "testbed" / "shop" / "price.py"
    price.write_text(price.read_text().replace("prices[1:]", "prices"))
    assert "test_all" not in (out / "testbed" / "tests" / "test_price.py").read_text()
    graded = selfplay("grade", run / "bugs" / taken["tasks"][0], "--world", out, "--json")
    assert graded.json["resolved"], graded.out
    assert handed["hand_in"] == f"selfplay grade {run / 'bugs' / taken['tasks'][0]} --world {out}"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"base_commit": "b" * 40}, "bbbbbbb"),
        ({"patch": "diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b\n"}, "does not apply"),
    ],
)
def test_a_row_that_fits_no_tree_is_skipped(
    selfplay: Command, swebench_row: tuple[Path, dict[str, str]], tmp_path: Path, change: Mapping[str, str], says: str
) -> None:
    repository, row = swebench_row
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({**row, **change}))
    done = selfplay("import", file, "--out", tmp_path / "run", "--source", f"me/shop={repository}")
    assert done.code == 2 and says in done.err, done.err


def test_rows_do_not_join_bugs_that_were_made_here(
    selfplay: Command, finished: tuple[Path, Done], tmp_path: Path
) -> None:
    run, file = tmp_path / "run", tmp_path / "rows.jsonl"
    shutil.copytree(finished[0], run)
    file.write_text("{}\n")
    done = selfplay.here("import", file, "--out", run)
    assert done.code == 2 and "has bugs that selfplay made" in done.err


def test_a_world_is_not_written_over_something(
    selfplay: Command, finished: tuple[Path, Done], source: Callable[..., Path], tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("keep")
    done = selfplay("world", next((finished[0] / "bugs").iterdir()), "--out", tmp_path / "out")
    assert done.code == 2 and "not an empty folder" in done.err
