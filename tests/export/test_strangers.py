"""Runs that strangers made, and pools that meet: what travels is what the bugs were made on, under names that hold."""

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import hand_made
import pools
import pytest

from selfplay.artifact.reading import UntrustedDataError
from selfplay.commands.export import ExportOrder, run_export
from selfplay.curriculum import CurriculumError
from selfplay.curriculum.trust import NotTrusted, Wish, allow
from selfplay.export import sidecar_files
from selfplay.export.formats import Form
from selfplay.export.trees import pack

ARTIFACT = hand_made.artifact("python")
ORIGINAL = hand_made.original("python")


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return pools.pool(tmp_path / "run", ORIGINAL, pools.numbered(ARTIFACT, 2))


@pytest.mark.parametrize("form", ["r2e", "harbor"])
def test_a_strangers_run_of_many_bugs_is_exported_with_several_processes(
    form: Form, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sidecar_files, "MANY", 1)
    run.rename(tmp_path / "moved")  # a copy would be as foreign
    shutil.copytree(tmp_path / "moved", run)
    assert run_export(ExportOrder((run,), tmp_path / "out", form)).splits == {"train": 2}


def huge(original: Path) -> None:
    with (original / "huge").open("wb") as stream:
        stream.truncate(200 << 30)  # sparse: it takes no room


def deep(original: Path) -> None:
    at = os.open(original, os.O_RDONLY)
    for _ in range(1200):  # deeper than Python's recursion, longer than a path may be
        os.mkdir("d", dir_fd=at)
        inner = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = inner
    os.close(at)


def changed(original: Path) -> None:
    (original / "shop" / "more.py").write_text("import os\n")


def linked_git(original: Path) -> None:
    """Links alone, since a file of git's was refused before."""
    (original / "shop" / ".git").symlink_to("../gd")


def git_of_links(original: Path) -> None:
    (original / ".git" / "hooks").mkdir(parents=True)
    (original / ".git" / "hooks" / "pre-commit").symlink_to("../../shop/check.sh")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (linked_git, "git's own"),
        (git_of_links, "git's own"),
        (huge, "has more than"),
        (deep, "depth"),
        (changed, "not"),
    ],
)
def test_an_original_that_is_not_the_recorded_one_is_left_out(
    run: Path, tmp_path: Path, change: Callable[[Path], None], says: str
) -> None:
    (run / "original" / "shop").mkdir(exist_ok=True)
    change(run / "original")
    well = pools.pool(tmp_path / "well", ORIGINAL, [pools.numbered(ARTIFACT, 3, source="pypi:well==1")[2]])
    found = run_export(ExportOrder((run, well), tmp_path / "out"))
    assert found.splits == {"train": 1}
    assert len(found.damaged) == 2 and all(says in why for why in found.damaged.values())
    with pytest.raises(CurriculumError, match="no bug to export"):
        run_export(ExportOrder((run,), tmp_path / "alone"))
    assert not (tmp_path / "alone").exists()
    subprocess.run(["rm", "-rf", run], check=True)  # no Python goes so deep


def test_the_id_of_a_tree_is_that_of_git(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "a.b").mkdir(parents=True)
    (tree / "a").mkdir()
    for name in ("a/x", "a.b/y", "a0", "naïve name"):
        (tree / name).write_text(name)
    (tree / "a0").chmod(0o755)
    (tree / "link").symlink_to("a/x")
    pack(tree, tmp_path / "out.tar.gz", pools.tree_of(tree))
    with pytest.raises(UntrustedDataError, match="is the tree"):
        pack(tree, tmp_path / "out.tar.gz", "0" * 40)


def test_what_a_stranger_names_is_no_markup_of_the_card(tmp_path: Path) -> None:
    versions = {"x\n\n# Hostile\n<script>": "[click](http://evil)"}
    bugs = pools.numbered(ARTIFACT, 1, versions=versions, policy="x\n\n# Hostile\n<img>", commit="../../x")
    run_export(ExportOrder((pools.pool(tmp_path / "run", ORIGINAL, bugs),), tmp_path / "out"))
    card = (tmp_path / "out" / "README.md").read_text()
    assert "Hostile" in card and "\n# Hostile" not in card and "<script>" not in card and "<img>" not in card
    assert "\\[click]" in card


@pytest.mark.parametrize(
    ("environment", "kind", "text"),
    [
        ({"setup": "pip install pytest"}, "setup", "pip install pytest"),
        ({"source": "image:debian:12:/src"}, "source", "image:debian:12:/src"),
        ({"image": "evil.example:5000/base"}, "image", "evil.example:5000/base"),
    ],
)
def test_a_command_or_an_image_of_a_run_is_asked_for(
    tmp_path: Path, environment: dict[str, str], kind: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever builds the dataset's images runs it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = pools.pool(tmp_path / "run", ORIGINAL, pools.numbered(ARTIFACT, 1, environment=environment))
    order = ExportOrder((folder,), tmp_path / "out")
    with pytest.raises(NotTrusted, match=text) as caught:
        run_export(order)
    assert "--trust" in caught.value.hint and not order.out.exists()
    assert run_export(replace(order, out=tmp_path / "trusted", trust=True)).splits == {"train": 1}
    allow(Wish(kind, text, pools.tree_of(ORIGINAL)))
    assert run_export(order).splits == {"train": 1}


def test_no_name_of_a_remote_leads_out(tmp_path: Path) -> None:
    bugs = pools.numbered(ARTIFACT, 1, commit="/../../x")
    run_export(ExportOrder((pools.pool(tmp_path / "run", ORIGINAL, bugs),), tmp_path / "out", "swesmith"))
    (row,) = pools.rows(tmp_path / "out")
    assert row["repo"].count("/") == 1 and ".." not in row["repo"] and "/" not in row["instance_id"]


def test_a_parent_is_named_as_its_row_is(tmp_path: Path) -> None:
    """Two pools whose parents have one name: each child names its own."""
    runs = []
    for number, (_, artifact) in enumerate(pools.numbered(ARTIFACT, 2)):
        parent = pools.bug(artifact, id="shop-1.removal.0")
        folder = pools.pool(tmp_path / str(number), ORIGINAL, [(parent, artifact)])
        runs.append(pools.promoted(folder, parent, f"shop-1.removal.0.o2.{number}"))
    run_export(ExportOrder(tuple(runs), tmp_path / "out"))
    rows = {row["instance_id"]: row for row in pools.rows(tmp_path / "out")}
    children = [row for row in rows.values() if row["ssr_order"] == 2]
    assert len(rows) == 4 and len(children) == 2
    assert len({row["ssr_parent_id"] for row in children}) == 2
    for row in children:
        assert row["ssr_root_id"] == row["ssr_parent_id"]
        assert rows[row["ssr_parent_id"]]["ssr_test_script"] == row["ssr_test_script"]


def test_versions_of_a_project_are_in_one_split(tmp_path: Path) -> None:
    sources = ("pypi:shop==1", "pypi:shop==2", "https://example.org/me/Shop.git@v3", "pypi:other")
    runs = []
    for number, source in enumerate(sources):
        bugs = [pools.numbered(ARTIFACT, 4, source=source)[number]]
        runs.append(pools.pool(tmp_path / str(number), ORIGINAL, bugs))
    found = run_export(ExportOrder(tuple(runs), tmp_path / "out", train=0.5))
    assert sorted(found.splits.values()) == [1, 3]


def test_the_current_folder_is_not_replaced(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with pytest.raises(CurriculumError, match="the folder you are in"):
        run_export(ExportOrder((run,), Path()))
