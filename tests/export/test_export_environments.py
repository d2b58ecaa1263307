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


@pytest.mark.parametrize(
    "words",
    [
        ["--build-arg", "PIP_INDEX_URL=https://me:secret@mirror.example/simple"],
        ["--build-arg=PIP_EXTRA_INDEX_URL=https://secret@mirror.example/simple"],
        ["--network", "host", "--build-arg", "GOPROXY=https://proxy.example,https://me:secret@mirror.example"],
        ["--build-arg", "PIP_INDEX_URL"],
    ],
)
def test_credentials_do_not_come_into_an_image(run: Path, tmp_path: Path, words: list[str]) -> None:
    """`docker history` shows the build arguments to everyone who has the image."""
    exported(run, tmp_path / "out")
    command = [sys.executable, tmp_path / "out" / "build_images.py", "--", *words]
    env = {"PATH": "/nowhere", "PIP_INDEX_URL": "https://me:secret@mirror.example/simple"}
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, env=env)
    name = words[-1].rpartition("--build-arg=")[2].partition("=")[0]
    assert (done.returncode, done.stderr.partition(":")[0]) == (1, f"build argument {name}")
    assert "secret" not in done.stderr


def test_other_build_arguments_are_passed_on(run: Path, tmp_path: Path) -> None:
    exported(run, tmp_path / "out")
    (tmp_path / "docker").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/told\n')
    (tmp_path / "docker").chmod(0o755)
    told = ["--label", "by=me@home", "--build-arg", "PIP_INDEX_URL=https://mirror.example/@scope/simple"]
    command = [sys.executable, tmp_path / "out" / "build_images.py", "--", *told]
    subprocess.run(command, check=True, timeout=30, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert " ".join(told) in (tmp_path / "told").read_text()


def test_what_is_written_for_an_environment_is_in_its_key(tmp_path: Path) -> None:
    """Two runs of one tree, whose packages are of different days: each gets its own."""
    folders = []
    for number, day in enumerate(("2023-01-01", "2024-08-20"), 1):
        bugs = pools.numbered(ARTIFACT, number, environment={"as_of": day})[number - 1 :]
        folders.append(pools.pool(tmp_path / day, ORIGINAL, bugs, "javascript"))
    run_export(ExportOrder(tuple(folders), tmp_path / "out"))
    scripts = [(place / "setup.sh").read_text() for place in (tmp_path / "out" / "environments").iterdir()]
    assert sorted(day for script in scripts for day in ("2023-01-01", "2024-08-20") if day in script) == [
        "2023-01-01",
        "2024-08-20",
    ]


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
