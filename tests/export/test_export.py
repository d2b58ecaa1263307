"""A dataset is whole, the same for the same pool, and leaves nothing behind where it cannot be written."""

import errno
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import pools
import pytest
from export.exporting import exported, run

from selfplay.curriculum import CurriculumError
from selfplay.export import dataset, writing
from selfplay.export.dataset import FORMATS
from selfplay.export.formats import FORMS, Form

__all__ = ["run"]


@pytest.mark.parametrize("form", FORMS)
def test_a_dataset_is_whole(run: Path, tmp_path: Path, form: Form) -> None:
    out = tmp_path / "out"
    assert exported(run, out, form).splits == {"train": 3}
    rows = pools.rows(out)
    assert all(list(row) == list(FORMATS[form].columns) for row in rows)
    ids = [row["instance_id"] for row in rows]
    assert len(set(ids)) == 3 and all("__" in name and name == name.lower() for name in ids)
    assert len({row.get("image") for row in rows}) == 3
    assert all(row.get("image_name", row["image"]) == row.get("docker_image", row["image"]) for row in rows)
    gold, empty = (
        [json.loads(line) for line in (out / "predictions" / f"{name}.jsonl").read_text().splitlines()]
        for name in ("gold", "empty")
    )
    assert [one["instance_id"] for one in gold] == [one["instance_id"] for one in empty] == ids
    assert all(one["model_patch"].startswith("diff --git ") for one in gold)
    assert {one["model_patch"] for one in empty} == {""}
    listed = (out / writing.MANIFEST).read_text().splitlines()
    files = {path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file()}
    assert {line.split("  ")[1] for line in listed} == files - {writing.MANIFEST}
    assert all(hashlib.sha256((out / name).read_bytes()).hexdigest() == sum for sum, name in map(str.split, listed))


@pytest.mark.parametrize("form", ["r2e", "harbor"])
def test_no_file_of_a_bug_is_read_again(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Form) -> None:
    """Eight a bug would be, of ten thousand bugs."""
    read: list[str] = []
    taken = writing.sha256_of
    monkeypatch.setattr(writing, "sha256_of", lambda path: read.append(path.as_posix()) or taken(path))
    exported(run, tmp_path / "out", form)
    assert read and not [name for name in read if "/instances/" in name or "/tasks/" in name]


@pytest.mark.parametrize("form", FORMS)
def test_the_same_pool_gives_the_same_bytes(run: Path, tmp_path: Path, form: Form) -> None:
    for name in ("one", "two"):
        exported(run, tmp_path / name, form)
    one, two = ((tmp_path / name / writing.MANIFEST).read_text() for name in ("one", "two"))
    assert one == two


def test_a_folder_that_holds_something_is_left_alone(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine").write_text("keep")
    with pytest.raises(CurriculumError, match="exists"):
        exported(run, out)
    assert [path.name for path in out.iterdir()] == ["mine"]


def test_an_empty_folder_is_taken(run: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert exported(run, tmp_path / "out").splits == {"train": 3}


def test_a_full_disk_leaves_nothing(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(folder: Path, known: Mapping[str, str]) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("selfplay.commands.export.write_manifest", full)
    with pytest.raises(CurriculumError, match="No space left on device") as found:
        exported(run, tmp_path / "out")
    assert "Free some space" in found.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_large_tables_are_parquet_unless_json_lines_are_asked_for(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    exported(run, tmp_path / "small")
    size = (tmp_path / "small" / "train.jsonl").stat().st_size
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)  # so Parquet ends in the error that says so
    monkeypatch.setattr(dataset, "LARGE", size * 1.05)
    exported(run, tmp_path / "below")
    monkeypatch.setattr(dataset, "LARGE", size * 0.95)
    with pytest.raises(CurriculumError, match="pyarrow") as found:
        exported(run, tmp_path / "above")
    assert "--jsonl" in found.value.hint and not (tmp_path / "above").exists()
    exported(run, tmp_path / "asked", parquet=False)
    assert (tmp_path / "asked" / "train.jsonl").stat().st_size == size


def test_parquet_without_its_library_says_what_to_install(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(CurriculumError, match="pyarrow") as found:
        exported(run, tmp_path / "out", parquet=True)
    assert "selfplay-swe[parquet]" in found.value.hint
    assert not (tmp_path / "out").exists()
