"""Rows that a stranger wrote: each is taken whole, or skipped with the reason; none ends the import."""

import json
from pathlib import Path
from typing import Any

import pytest

from selfplay.artifact.reading import UntrustedDataError
from selfplay.importers import rows as reading
from selfplay.importers.rows import DatasetRow, ImportRefused, read_rows
from selfplay.importers.tasks import task_of

PATCH = "diff --git a/shop.py b/shop.py\n--- a/shop.py\n+++ b/shop.py\n@@ -1 +1 @@\n-x = 2\n+x = 1\n"
TESTS = PATCH.replace("shop.py", "tests/test_shop.py")
GOOD: dict[str, Any] = {
    "instance_id": "me__shop-1", "repo": "me/shop", "base_commit": "a" * 40, "patch": PATCH, "test_patch": TESTS,
    "problem_statement": "x is wrong", "FAIL_TO_PASS": '["tests/test_shop.py::test_x"]', "PASS_TO_PASS": "[]",
}  # fmt: skip


def row(**changes: Any) -> DatasetRow:
    values = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    return DatasetRow("rows.jsonl:1", values, "0" * 64, Path("/nowhere"))


def test_a_row_of_swe_bench_becomes_its_reverse() -> None:
    task = task_of(row())
    assert "-x = 1\n+x = 2" in task.artifact.bug_inject and "-x = 1\n+x = 2" in task.artifact.weakening
    assert task.artifact.test_files == ("tests/test_shop.py",) and task.diffs == (PATCH, TESTS)
    assert (task.fail_to_pass, task.statement) == (("tests/test_shop.py::test_x",), "x is wrong")


def test_a_row_of_swe_smith_hides_nothing() -> None:
    bug = row(test_patch=None, base_commit=None, repo="swesmith/me__shop.aaaaaaaa", FAIL_TO_PASS=["t/test_x.py::y"])
    task = task_of(bug)
    assert (task.form, task.commit, task.diffs) == ("swesmith", "aaaaaaaa", ())
    assert task.artifact.test_weaken is None and task.artifact.bug_inject == PATCH


def test_a_row_that_says_nothing_is_told_by_its_tests() -> None:
    assert "tests/test_shop.py::test_x" in task_of(row(problem_statement=" ")).statement


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"instance_id": None}, "instance_id"),
        ({"instance_id": "x" * 1000}, "instance_id"),
        ({"instance_id": 7}, "instance_id"),
        ({"FAIL_TO_PASS": "[]"}, "no failing test"),
        ({"FAIL_TO_PASS": "not json"}, "FAIL_TO_PASS"),
        ({"FAIL_TO_PASS": '{"a": 1}'}, "FAIL_TO_PASS"),
        ({"FAIL_TO_PASS": "[" * 100_000}, "FAIL_TO_PASS"),
        ({"FAIL_TO_PASS": ["test_x (shop.Tests)"]}, "not the id of a pytest test"),
        ({"FAIL_TO_PASS": ["../../etc/test_x.py::y"]}, "test_files.txt names"),
        ({"FAIL_TO_PASS": ["/etc/test_x.py::y"]}, "test_files.txt names"),
        ({"patch": ""}, "its patch is empty"),
        ({"patch": "rm -rf /"}, "diff"),
        ({"patch": PATCH.replace("shop.py", "../shop.py")}, "shop.py"),
        ({"patch": PATCH.replace("shop.py", ".git/hooks/pre-commit")}, ".git"),
        ({"patch": "x" * (9 << 20)}, "patch"),
        ({"test_patch": TESTS.replace("tests/", "/")}, "test_shop.py"),
        ({"base_commit": "--upload-pack=x"}, "is not a commit"),
        ({"base_commit": "main"}, "is not a commit"),
        ({"parsed_commit_content": "{}"}, "repo_name"),
        ({"ssr_bug_inject": PATCH}, "ssr_"),
        ({"problem_statement": "x" * 1_000_000}, "problem_statement"),
    ],
)
def test_a_hostile_row_is_refused_in_a_line(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ImportRefused) as found:
        task_of(row(**changes))
    assert says in found.value.message and len(found.value.message) < 1000


OWN: dict[str, Any] = {
    "instance_id": "selfplay__b", "ssr_bug_inject": PATCH, "ssr_test_weaken": TESTS, "ssr_test_script": "true\n",
    "ssr_test_parser": "pass\n", "ssr_test_files": '["tests/test_shop.py"]', "ssr_tree_hash": "a" * 40,
    "ssr_environment": "{}", "ssr_environment_key": "a" * 16, "FAIL_TO_PASS": '["a"]',
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({}, "is not beside the rows"),
        ({"ssr_environment_key": "../../../../etc"}, "name is not one of selfplay's"),
        ({"ssr_tree_hash": "../.."}, "name is not one of selfplay's"),
        ({"ssr_test_files": '["../x"]'}, "test_files.txt names"),
        ({"ssr_environment": '{"python": "/bin/sh"}'}, "python"),
        ({"ssr_environment": '{"lock": ["x @ https://evil"]}'}, "lock"),
        ({"ssr_seconds": 1e9}, "ssr_seconds"),
        ({"ssr_bug_inject": "no diff"}, "diff"),
    ],
)
def test_a_hostile_row_of_our_own_form_is_refused(tmp_path: Path, changes: dict[str, Any], says: str) -> None:
    with pytest.raises(ImportRefused) as found:
        task_of(DatasetRow("rows.jsonl:1", {**OWN, **changes}, "0" * 64, tmp_path))
    assert says in found.value.message


def test_lines_that_are_no_rows_are_named_and_the_others_read(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text("\ufeff" + json.dumps(GOOD) + "\n\n{half\n[1]\n" + json.dumps(GOOD) + "\n")
    found = list(read_rows(file))
    assert [bool(one.fault) for one in found] == [False, True, True, False]
    assert found[1].name == "rows.jsonl:3" and found[0].sha256 == found[3].sha256


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.json", "rows.csv", "none.jsonl"])
def test_a_file_without_rows_is_one_line(tmp_path: Path, name: str) -> None:
    if name != "none.jsonl":
        (tmp_path / name).write_text("" if name == "rows.jsonl" else "[]")
    with pytest.raises(ImportRefused):
        list(read_rows(tmp_path / name))


def test_a_line_without_an_end_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_LINE", 100)
    (tmp_path / "rows.jsonl").write_text("[" * 1000)
    with pytest.raises(ImportRefused, match="line 1 has more than"):
        list(read_rows(tmp_path / "rows.jsonl"))


def test_too_many_rows_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MOST_ROWS", 3)
    (tmp_path / "rows.jsonl").write_text("{}\n" * 4)
    with pytest.raises(ImportRefused, match="more than 3 rows"):
        list(read_rows(tmp_path / "rows.jsonl"))


def test_a_list_in_one_file(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text(json.dumps([GOOD, 3]))
    assert [bool(one.fault) for one in read_rows(tmp_path)] == [False, True]


def test_a_list_or_lines_that_take_too_much_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One emoji makes each character four bytes; lines that hold nothing take time."""
    monkeypatch.setattr(reading, "MOST_LIST", 1000)
    monkeypatch.setattr(reading, "MOST_LINES", 100)
    file, rows = tmp_path / "rows.json", tmp_path / "rows.jsonl"
    file.write_text(json.dumps([{"a": "x" * 900}]))
    assert len(list(read_rows(file))) == 1
    file.write_text(json.dumps([{"a": "x" * 400 + "\U0001f600"}], ensure_ascii=False))
    with pytest.raises(ImportRefused, match=r"rows\.json takes more than"):
        list(read_rows(file))
    rows.write_text('{"a": 1}\n' + "\n" * 200)
    with pytest.raises(ImportRefused, match="has more than 100 lines"):
        list(read_rows(rows))


def test_a_link_leads_out_of_a_dataset_only_to_the_hub_s_own_blobs(tmp_path: Path) -> None:
    """Its target was taken into the run, and goes with it where that is shared."""
    elsewhere = tmp_path / "private.jsonl"
    elsewhere.write_text('{"a": 1}\n')
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "train.jsonl").symlink_to(elsewhere)
    with pytest.raises(ImportRefused, match="leads out of the folder"):
        list(read_rows(tmp_path / "set"))
    (tmp_path / "set" / "train.jsonl").unlink()
    (tmp_path / "set" / "train.jsonl").hardlink_to(elsewhere)
    with pytest.raises(UntrustedDataError, match="is a hard link"):
        list(read_rows(tmp_path / "set"))
    cache = tmp_path / "datasets--us--bugs"
    (cache / "snapshots" / "1").mkdir(parents=True)
    (cache / "blobs").mkdir()
    (cache / "blobs" / "2").write_text('{"a": 1}\n')
    (cache / "snapshots" / "1" / "train.jsonl").symlink_to("../../blobs/2")
    assert [row.values for row in read_rows(cache / "snapshots" / "1")] == [{"a": 1}]


def test_the_footer_of_a_parquet_file_is_bounded(tmp_path: Path) -> None:
    """It is read as a whole before any bound of ours: 5 MB of 500,000 empty columns took 1.3 GB."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({f"column {number}": pyarrow.array([1]) for number in range(20_000)})
    parquet.write_table(table, tmp_path / "rows.parquet")
    with pytest.raises(ImportRefused, match="a footer of more than 1 MiB"):
        list(read_rows(tmp_path / "rows.parquet"))


def test_values_of_a_row_of_a_parquet_file_are_counted(tmp_path: Path) -> None:
    """Of nulls a few bytes stand for any number: 7 kB took 728 MB. Tables and lists of tables are rows as any other."""
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    struct = pyarrow.struct([("a", pyarrow.int8()), ("b", pyarrow.int8())])
    kinds = {
        "structs": pyarrow.array([[None] * 300_000], pyarrow.list_(struct)),
        "few": pyarrow.array([[{"a": 1, "b": 2}]], pyarrow.list_(struct)),
        "map": pyarrow.array([[("a", 1)]], pyarrow.map_(pyarrow.string(), pyarrow.int8())),
    }
    found = {}
    for name, column in kinds.items():
        parquet.write_table(pyarrow.table({"x": column}), tmp_path / f"{name}.parquet")
        found[name] = next(iter(read_rows(tmp_path / f"{name}.parquet"))).fault
    assert "900001 values, more than a row may" in found.pop("structs") and found == {"few": "", "map": ""}
