"""One diff undoes two that git applied one after the other, whichever files both change."""

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import hand_made
import pytest

from selfplay.artifact import ArtifactError
from selfplay.export.compose_diffs import undoing
from selfplay.patches import parse

FILES = {"a.py": "".join(f"line {n}\n" for n in range(40)), "b.py": "x = 1", "c é.py": "y = 1\n"}


def written(folder: Path, files: Mapping[str, str]) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def change(old: Path, files: Mapping[str, str]) -> str:
    """The git diff from the tree to one of these files."""

    def edit(root: Path) -> None:
        for path in root.iterdir():
            if path.is_file():
                path.unlink()
        for name, text in files.items():
            (root / name).write_text(text)

    return hand_made.diff(old, edit)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"a.py": FILES["a.py"].replace("line 3\n", "")}, {"a.py": FILES["a.py"].replace("line 3\n", "line 30\n" * 2)}),
        ({"a.py": "one\n" + FILES["a.py"]}, {"a.py": "one\n" + FILES["a.py"].replace("line 35\n", "other\n")}),
        ({"b.py": "x = 2"}, {"b.py": "x = 2\ny\n"}),
        ({"b.py": "x = 2\n"}, {"b.py": "x = 3"}),
        ({"d.py": "new\n"}, {"d.py": "newer\n"}),
        ({"c é.py": "y = 2\n"}, {"c é.py": "y = 3\n", "d.py": "new\n"}),
        ({"c é.py": ""}, {"c é.py": "z"}),
    ],
)
def test_both_are_undone(tmp_path: Path, first: dict[str, str], second: dict[str, str]) -> None:
    original = written(tmp_path / "original", FILES)
    middle = written(tmp_path / "middle", {**FILES, **first})
    diffs = [change(original, {**FILES, **first}), change(middle, {**FILES, **second})]
    found = undoing(original, diffs)
    assert len({section.path for section in parse(found)}) == len(parse(found))
    tree = written(tmp_path / "tree", {**FILES, **second})
    subprocess.run(["git", "apply", "-"], cwd=tree, input=found.encode(), check=True, timeout=30)
    assert {path.name: path.read_text() for path in tree.iterdir()} == FILES


def test_a_file_that_both_delete_and_make_comes_back(tmp_path: Path) -> None:
    original = written(tmp_path / "original", FILES)
    without = {name: text for name, text in FILES.items() if name != "b.py"}
    middle = written(tmp_path / "middle", without)
    found = undoing(original, [change(original, without), change(middle, {**without, "b.py": "other\n"})])
    tree = written(tmp_path / "tree", {**without, "b.py": "other\n"})
    subprocess.run(["git", "apply", "-"], cwd=tree, input=found.encode(), check=True, timeout=30)
    assert (tree / "b.py").read_text() == "x = 1"


def test_diffs_that_do_not_fit_are_a_damaged_bug(tmp_path: Path) -> None:
    original = written(tmp_path / "original", FILES)
    diff = change(original, {**FILES, "b.py": "x = 2"})
    with pytest.raises(ArtifactError, match="do not fit together"):
        undoing(original, [diff, diff])
