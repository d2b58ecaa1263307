"""`bug.json`: written whole, read strictly, and consistent in itself."""

import json

import pytest
from pydantic import ValidationError

from selfplay.artifact import ArtifactError, Bug, Verdict, load_bug, save_bug

FIELDS = {
    "id": "b-0001",
    "strategy": "removal",
    "seed": 7,
    "source": "pypi:demo==1.0",
    "revision": "1.0",
    "commit": "c" * 40,
    "tree_hash": "d" * 40,
    "content_hash": "e" * 64,
    "fail_to_pass": ("a [é]",),
    "pass_to_pass": ("b", "c"),
    "flaky": ("d",),
    "verdicts": (Verdict("bug", True, "1 test fails", 0.5, 1, {"failing": 1}).to_json(),),
    "policy": "scripted",
}


def test_saved_and_loaded(tmp_path):
    bug = Bug(**FIELDS)
    save_bug(bug, tmp_path)
    assert load_bug(tmp_path) == bug
    assert "a [é]" in (tmp_path / "bug.json").read_text()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"id": "../x"}, "id:"),
        ({"order": 3}, "order:"),
        ({"seed": None}, "a bug has the seed and the policy of its episode"),
        ({"schema_version": 0}, "schema_version:"),
        ({"schema_version": "2"}, "schema_version:"),
        ({"order": 2}, "a bug of order 2 has a parent, a root and an attempt"),
        ({"parent": "b-0000"}, "a bug of order 2 has a parent, a root and an attempt"),
        ({"pass_to_pass": ["a [é]"]}, "'a [é]' is in more than one of"),
        ({"flaky": ["b"]}, "'b' is in more than one of"),
        ({"fail_to_pass": []}, "fail_to_pass:"),
        ({"verdicts": [{"check": {"a": 1}, "passed": True, "reason": ""}]}, "verdicts.0.check:"),
        ({"tree_hash": ""}, "tree_hash:"),  # what is allowed for it would hold for every tree
        ({"tree_hash": "HEAD"}, "tree_hash:"),
    ],
)
def test_what_is_wrong_is_named(change, says, tmp_path):
    (tmp_path / "bug.json").write_text(json.dumps(FIELDS | change))
    with pytest.raises(ArtifactError) as caught:
        load_bug(tmp_path)
    assert says in caught.value.message
    assert str(tmp_path) in caught.value.message


def test_fields_of_a_later_version_are_kept(tmp_path):
    second = {"order": 2, "parent": "b-0000", "root": "b-0000"}
    attempt = {"policy": "p", "number": 0, "sha256": "f" * 64, "temperature": 0.5}
    written = FIELDS | second | {"attempt": attempt, "groups": {"g": [1, 2]}, "note": "é"}
    (tmp_path / "bug.json").write_text(json.dumps(written))
    bug = load_bug(tmp_path)
    save_bug(bug, tmp_path)
    again = json.loads((tmp_path / "bug.json").read_text())
    assert {name: again[name] for name in ("attempt", "groups", "note")} == {
        name: written[name] for name in ("attempt", "groups", "note")
    }
    assert load_bug(tmp_path) == bug


def test_a_later_schema_is_refused_by_its_version(tmp_path):
    (tmp_path / "bug.json").write_text(json.dumps(FIELDS | {"schema_version": 2, "seed": "renamed"}))
    with pytest.raises(ArtifactError, match="schema_version 2; this version of selfplay reads 1") as caught:
        load_bug(tmp_path)
    assert "upgrade selfplay" in caught.value.hint


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe"])
def test_corrupt_documents(content, tmp_path):
    (tmp_path / "bug.json").write_bytes(content)
    with pytest.raises(ArtifactError, match=r"bug\.json"):
        load_bug(tmp_path)


def test_missing_document(tmp_path):
    with pytest.raises(ArtifactError, match="is missing"):
        load_bug(tmp_path)


def test_a_bug_does_not_change():
    with pytest.raises(ValidationError, match="frozen"):
        Bug(**FIELDS).seed = 8
