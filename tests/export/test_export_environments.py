"""What a dataset says of the environments of its bugs: the files that make an image, and their licence."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pools
import pytest
from export.exporting import ARTIFACT, ORIGINAL, exported, run

from selfplay.commands.export import ExportOrder, run_export

__all__ = ["run"]

MIT = (
    "MIT License\n\nPermission is hereby granted, free of charge, to any person obtaining a copy of this software and"
    " associated documentation files.\n\nTHE SOFTWARE IS PROVIDED AS IS.\n"
)


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
        ("go", ["go:golang-go"], "go mod download || go list -deps -test ./... || :"),
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
    assert setup in script and ("npm" in script) == (language == "javascript")
    assert ("GOMODCACHE=/go-modules" in said) == ("go mod" in script) == (language == "go")
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
