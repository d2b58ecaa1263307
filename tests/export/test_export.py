"""A dataset is whole, the same for the same pool, and says what it left out."""

import errno
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hand_made
import pools
import pytest

from selfplay.commands.export import Exported, ExportOrder, run_export
from selfplay.curriculum import CurriculumError
from selfplay.export import dataset, writing
from selfplay.export.bug_selection import BugSelection
from selfplay.export.dataset import FORMATS
from selfplay.export.formats import FORMS, Form

MIT = (
    "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software and"
    " associated documentation files.\n\nTHE SOFTWARE IS PROVIDED AS IS.\n"
)
ARTIFACT = hand_made.artifact("python")
ORIGINAL = hand_made.original("python")


def exported(run: Path, out: Path, form: Form = "swebench", **how: Any) -> Exported:
    return run_export(ExportOrder((run,), out, form, **how))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return pools.pool(tmp_path / "run", ORIGINAL, pools.numbered(ARTIFACT, 3))


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


def test_what_rebuilds_an_environment_travels(run: Path, tmp_path: Path) -> None:
    exported(run, tmp_path / "out")
    (place,) = (tmp_path / "out" / "environments").iterdir()
    with tarfile.open(place / "original.tar.gz") as archive:
        names = sorted(archive.getnames())
    assert names == sorted(path.relative_to(ORIGINAL).as_posix() for path in ORIGINAL.rglob("*") if path.is_file())
    assert "ADD original.tar.gz /testbed/" in (place / "Dockerfile").read_text()
    assert {row["ssr_environment_key"] for row in pools.rows(tmp_path / "out")} == {place.name}


@pytest.mark.parametrize(
    ("language", "programs", "setup"),
    [
        ("python", ["git:git", "python3:python3"], ""),
        ("javascript", ["node:nodejs", "npm:npm"], "npm install --no-package-lock --before=2024-08-20 "),
        ("go", ["go:golang-go"], ""),
        ("c", ["cc:gcc", "make:make"], ""),
    ],
)
def test_an_image_has_what_its_language_needs(tmp_path: Path, language: str, programs: list[str], setup: str) -> None:
    """The evaluation is Python, also where the repository is not."""
    bugs = pools.numbered(ARTIFACT, 1, environment={"as_of": "2024-08-20"})
    exported(pools.pool(tmp_path / "run", ORIGINAL, bugs, language), tmp_path / "out")
    (place,) = (tmp_path / "out" / "environments").iterdir()
    said = (place / "Dockerfile").read_text()
    assert all(f" {program}" in said for program in ("git:git", "python3:python3", *programs))
    assert ("/node_modules/.bin:$PATH" in said) == (language == "javascript")
    script = (place / "setup.sh").read_text()
    assert setup in script and ("npm" in script) == bool(setup)
    assert subprocess.run(["bash", "-n", place / "setup.sh"], timeout=30).returncode == 0


@pytest.mark.parametrize("folder", ["src", "."], ids=["packages in src", "packages at the root"])
def test_where_a_project_cannot_be_built_its_modules_are_found_all_the_same(tmp_path: Path, folder: str) -> None:
    """What an image does where `pip install --editable` fails, as it does without an index. Both ways stand in it."""
    bugs = pools.numbered(ARTIFACT, 1, environment={"python": "3.11"})
    exported(pools.pool(tmp_path / "run", ORIGINAL, bugs), tmp_path / "out")
    (place,) = (tmp_path / "out" / "environments").iterdir()
    tree, venv = tmp_path / "tree", tmp_path / "venv"
    (tree / folder).mkdir(parents=True, exist_ok=True)
    (tree / folder / "shop.py").touch()
    (tree / "pyproject.toml").write_text("[build-system]\nrequires = ['nowhere']\nbuild-backend = 'nowhere'\n")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True, timeout=60)
    (venv / "bin" / "pip").write_text("#!/bin/sh\nexit 1\n")
    (venv / "bin" / "pip").chmod(0o755)
    path = {"PATH": f"{venv}/bin:/usr/bin:/bin"}
    subprocess.run(["bash", place / "setup.sh"], cwd=tree, env=path, check=True, timeout=60)
    subprocess.run(["python", "-c", "import shop"], cwd="/", env=path, check=True, timeout=60)


def test_images_of_no_bug_are_an_error(run: Path, tmp_path: Path) -> None:
    exported(run, tmp_path / "out")
    command = [sys.executable, tmp_path / "out" / "build_images.py", "selfplay__nobody"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr) == (1, "not in this dataset: selfplay__nobody\n")


def test_bugs_that_are_damaged_are_left_out_counted_and_named(run: Path, tmp_path: Path) -> None:
    bugs = sorted((run / "bugs").iterdir())
    (bugs[0] / "bug_inject.diff").write_text("half a ")
    (bugs[1] / "bug.json").write_text('{"schema_version": 1, "id"')
    found = exported(run, tmp_path / "out")
    assert found.splits == {"train": 1}
    assert [Path(name.split(": ")[1]).name for name in found.damaged] == ["shop-1.removal.0", "shop-1.removal.1"]
    card = (tmp_path / "out" / "README.md").read_text()
    assert all(f"{run}: shop-1.removal.{number}" in card for number in (0, 1))


def test_bytes_that_json_cannot_hold_leave_a_bug_out(tmp_path: Path) -> None:
    odd = pools.numbered(hand_made.artifact("python"), 2)
    raw = ARTIFACT.__class__(**{**vars(ARTIFACT), "test_script": "echo \udce9\n"})
    odd[0] = (pools.bug(raw, id="shop-1.removal.odd"), raw)
    found = exported(pools.pool(tmp_path / "run", ORIGINAL, odd), tmp_path / "out")
    assert found.splits == {"train": 1} and "not UTF-8" in next(iter(found.damaged.values()))


def test_one_bug_of_two_pools_is_one_and_two_of_one_name_are_two(tmp_path: Path) -> None:
    one = pools.numbered(ARTIFACT, 2)
    other = [one[0], (one[0][0].model_copy(update={"id": one[1][0].id}), one[0][1])]
    first = pools.pool(tmp_path / "first", ORIGINAL, one)
    second = pools.pool(tmp_path / "second", ORIGINAL, [other[0]])
    third = pools.pool(tmp_path / "third", ORIGINAL, [other[1]])
    found = run_export(ExportOrder((first, second, third), tmp_path / "out"))
    ids = [row["instance_id"] for row in pools.rows(tmp_path / "out")]
    assert found.left_out == {"in two pools": 1}
    assert ids[:2] == ["selfplay__shop-1.removal.0", "selfplay__shop-1.removal.1"] and len(set(ids)) == 3
    assert ids[2].startswith("selfplay__shop-1.removal.1.")


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


def test_a_pool_without_a_bug_that_fits_says_why(run: Path, tmp_path: Path) -> None:
    with pytest.raises(CurriculumError, match="no bug to export") as found:
        exported(run, tmp_path / "out", choice=BugSelection(min_order=2))
    assert "3 of another order" in found.value.hint
    assert not (tmp_path / "out").exists()


def test_bugs_are_chosen_by_solve_rate_and_strategy(run: Path, tmp_path: Path) -> None:
    pools.attempts(run, "shop-1.removal.0", "++++")
    pools.attempts(run, "shop-1.removal.1", "+...")
    pools.attempts(run, "shop-1.removal.2", "++++", policy="gold")  # a control is no attempt
    found = exported(run, tmp_path / "out", choice=BugSelection(solve_rate=(0.1, 0.9)))
    assert found.left_out == {"of another solve rate": 1, "without an attempt": 1}
    (row,) = pools.rows(tmp_path / "out")
    assert (row["instance_id"], row["ssr_solve_rate"]) == ("selfplay__shop-1.removal.1", 0.25)  # 1 of 4
    with pytest.raises(CurriculumError):
        exported(run, tmp_path / "none", choice=BugSelection(strategies=("history",)))


def test_a_split_keeps_a_repository_whole(tmp_path: Path) -> None:
    runs = [
        pools.pool(
            tmp_path / name, ORIGINAL,
            [(one.model_copy(update={"id": f"{name}.{place}", "source": f"pypi:{name}==1"}), artifact)
             for place, (one, artifact) in enumerate(pools.numbered(ARTIFACT, 2))],
        )
        for name in ("red", "green", "blue", "grey")
    ]  # fmt: skip
    found = run_export(ExportOrder(runs, tmp_path / "out", train=0.75))
    assert found.splits == {"train": 6, "test": 2}  # three of four repositories, two bugs each
    sources = [{row["ssr_source"] for row in pools.rows(tmp_path / "out", split)} for split in ("train", "test")]
    assert not sources[0] & sources[1]
    with pytest.raises(CurriculumError, match="one repository cannot be split"):
        run_export(ExportOrder(runs[:1], tmp_path / "other", train=0.75))


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


def test_a_repository_without_a_licence_says_so(tmp_path: Path) -> None:
    original = tmp_path / "tree"
    shutil.copytree(ORIGINAL, original)
    bare = pools.pool(tmp_path / "bare", original, pools.numbered(ARTIFACT, 1))
    (original / "LICENSE").write_text(MIT)
    told = pools.pool(tmp_path / "told", original, pools.numbered(ARTIFACT, 2, source="pypi:told==1")[1:])
    run_export(ExportOrder((bare, told), tmp_path / "out"))
    assert {row["ssr_source"]: row["license"] for row in pools.rows(tmp_path / "out")} == {
        "pypi:shop==1": None,
        "pypi:told==1": "MIT",
    }
    card = (tmp_path / "out" / "README.md").read_text()
    assert "| pypi:shop==1 | 1 | none stated | 1 |" in card and "| pypi:told==1 | 1 | MIT | 1 |" in card
    assert "license: other" in card


def test_parquet_without_its_library_says_what_to_install(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(CurriculumError, match="pyarrow") as found:
        exported(run, tmp_path / "out", parquet=True)
    assert "selfplay-swe[parquet]" in found.value.hint
    assert not (tmp_path / "out").exists()
