"""Files and tests whose names hold spaces, quotes, brackets and letters of other scripts, all the way through."""

import base64
import json
import subprocess
import tarfile
import zlib
from dataclasses import replace
from pathlib import Path

import hand_made
import pools
import pytest

from selfplay import patches
from selfplay.commands.export import ExportOrder, run_export
from selfplay.export.formats import Form
from selfplay.export.inside import evaluate

CODE, TEST = 'my src/naïve "q" [1] it\'s $x.py', "tests/test ä [b] 'c'.py"
IDS = (f"{TEST}::test_a[x  y]", f"{TEST}::test_日本[\"]'", f"{TEST}::test_b - c")


def original(folder: Path) -> Path:
    for path, text in ((CODE, "def f():\n    return 1\n"), (TEST, "def test_a():\n    assert f() == 1\n")):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    return folder


def git(tree: Path, *arguments: str, data: str | None = None) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *who, *arguments], cwd=tree, check=True, input=data, text=True, timeout=30)


@pytest.mark.parametrize("form", ["swebench", "swesmith", "r2e", "harbor", "hf"])
def test_a_repair_and_its_tests_fit_whatever_files_are_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Form
) -> None:
    """The tree of the export, broken by its diffs, is the original again after the gold patch and the evaluation's
    tests; no id is lost or joined with another."""
    tree = original(tmp_path / "original")
    artifact = replace(
        hand_made.artifact("python"), bug_inject=hand_made.diff(tree, hand_made.substitute(CODE, "1", "2")),
        test_weaken=hand_made.diff(tree, hand_made.substitute(TEST, "== 1", "> 0")), test_files=(TEST,),
    )  # fmt: skip
    known = pools.bug(artifact, fail_to_pass=IDS[:1], pass_to_pass=IDS[1:])
    out = tmp_path / "out"
    run_export(ExportOrder((pools.pool(tmp_path / "run", tree, [(known, artifact)]),), out, form))
    (row,) = pools.rows(out)
    (gold,) = map(json.loads, (out / "predictions" / "gold.jsonl").read_text().splitlines())
    place = tmp_path / "testbed"
    with tarfile.open(out / "environments" / row["ssr_environment_key"] / "original.tar.gz") as archive:
        archive.extractall(place, filter="tar")
    git(place, "init", "-q")
    for diff in (row["ssr_bug_inject"], row["ssr_test_weaken"]):
        git(place, "apply", "-", data=diff)
    git(place, "add", "-A")
    git(place, "commit", "-qm", "one")
    git(place, "apply", "-", data=gold["model_patch"])
    monkeypatch.chdir(place)
    assert evaluate.restore({"test_files": [TEST], "test_patch": bundle_patch(row), "own": [CODE]}) == ""
    assert all((place / path).read_bytes() == (tree / path).read_bytes() for path in (CODE, TEST))
    assert json.loads(row["ssr_gold_locations"])["files"] == [CODE]


def bundle_patch(row: dict[str, str]) -> str:
    """What puts the tests back, as the evaluation has it where its script travels in the row."""
    script = row.get("eval_script") or row.get("ssr_run_tests")
    if not script:
        return patches.reverse(row["ssr_test_weaken"])
    packed = script.split("<<'SELFPLAY_BUNDLE'\n")[1].split("\nSELFPLAY_BUNDLE")[0]
    bundle = json.loads(zlib.decompress(base64.b64decode(packed)))
    assert len(set(bundle["names"])) == len(set(bundle["names"].values())) and bundle["test_files"] == [TEST]
    return str(bundle["test_patch"])
