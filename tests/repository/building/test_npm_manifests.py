"""What npm cannot read in `package.json` is rewritten, and put back byte for byte."""

import json
import subprocess
from pathlib import Path

import pytest
from repository_fixtures import write

from selfplay.repository import inside

OWN = {
    "packages/own/package.json": '{"name": "own"}',
    "test/fixtures/own/package.json": '{"name": "own"}',
    "packages/other/package.json": '{"name": "@me/other", "dependencies": {"own": "workspace:*"}}',
}


def rewritten(tree: Path, readable_by: str) -> list[str]:
    program = inside.text("npm_manifests.js").replace("/tmp/selfplay-manifests.json", f"{tree}/../saved.json")
    done = subprocess.run(["node", "-e", program, readable_by], cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [line.removeprefix("rewritten: ") for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("spec", "by_npm", "by_registry"),
    [
        ("^1.2.0", "^1.2.0", "^1.2.0"),
        ("npm:other@2", "npm:other@2", "npm:other@2"),
        ("./packages/own", "./packages/own", "./packages/own"),
        ("file:packages/own", "file:packages/own", "file:packages/own"),
        ("workspace:^", "file:packages/own", "file:packages/own"),
        ("workspace:@me/other@*", "file:packages/other", "file:packages/other"),
        ("link:packages/own", "file:packages/own", "file:packages/own"),
        ("link:../lost", None, None),
        ("catalog:", "*", "*"),
        ("patch:own@npm:1.2.3#./own.patch", "1.2.3", "1.2.3"),
        ("patch:own@npm%3A^1.2.3#x", "^1.2.3", "^1.2.3"),
        ("patch:own@npm:%zz#p", "*", "*"),
        ("jsr:@a/b", None, None),
        ("me/shop", "me/shop", None),
        ("git+https://host/a/b.git#v1", "git+https://host/a/b.git#v1", None),
        ("git@github.com:a/b.git", "git@github.com:a/b.git", None),
        ("https://host/a.tgz", "https://host/a.tgz", None),
        ({"toString": 1}, None, None),
    ],
)
def test_a_specifier(spec: object, by_npm: str | None, by_registry: str | None, tmp_path: Path) -> None:
    whole = {"name": "shop", "author": "Jos\u00e9", "dependencies": {"own": spec}}
    tree = write(tmp_path / "tree", OWN)
    data = json.dumps(whole, ensure_ascii=False).encode("latin-1")
    for readable_by, wanted in (("npm", by_npm), ("registry", by_registry)):
        (tree / "package.json").write_bytes(data)
        changes = rewritten(tree, readable_by)
        now = json.loads((tree / "package.json").read_bytes().decode("utf-8", "replace"))
        assert now["dependencies"] == ({} if wanted is None else {"own": wanted})
        assert "own: file:../own for workspace:*" in changes
        rewritten(tree, "back")
        assert (tree / "package.json").read_bytes() == data
        assert (tree / "packages/other/package.json").read_text() == OWN["packages/other/package.json"]


def test_nothing_is_said_where_nothing_has_to_be_rewritten(tmp_path: Path) -> None:
    tree = write(tmp_path / "tree", {"package.json": '{"dependencies": {"a": "1"}}', "packages/b/package.json": "[]"})
    assert rewritten(tree, "npm") == rewritten(tree, "registry") == []
    assert (tree / "package.json").read_text() == '{"dependencies": {"a": "1"}}'
