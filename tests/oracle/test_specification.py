"""What is shown to a solver: whole tests are kept back, and what is shown is still a diff that applies."""

import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import hand_made
import pytest

from selfplay import patches
from selfplay.oracle import weakening_parts
from selfplay.oracle.specification import hidden_tests, least_failing, specification
from selfplay.patches import PatchError

FILE = "tests/test_x.py"
TEXT = "import os\n\n\n" + "\n\n".join(
    f"# about {name}\n@mark\ndef test_{name}():\n    x = {number}\n    assert x == {number}\n\n    # end\n"
    for number, name in enumerate("abcdef")
)
IDS = [f"{FILE}::test_{name}" for name in "abcdef"]


def weakening(root: Path, edit: Callable[[str], str | None], text: str = TEXT, file: str = FILE) -> str:
    """The diff of one test file; None from `edit` deletes it."""
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    (root / file).write_text(text)

    def change(copy: Path) -> None:
        new = edit(text)
        (copy / file).unlink() if new is None else (copy / file).write_text(new)

    return hand_made.diff(root, change)


def applied(root: Path, *diffs: str) -> str:
    for diff in diffs:
        subprocess.run(["git", "apply", "-"], cwd=root, input=diff, text=True, check=True)
    return (root / FILE).read_text() if (root / FILE).exists() else ""


def gone(text: str) -> str:
    return text[: text.index("# about")].rstrip("\n") + "\n"


def loosened(text: str) -> str:
    return text.replace("    assert x", "    assert 1 or x")


WEAKENINGS: Mapping[str, Callable[[str], str | None]] = {
    "all tests taken out in one hunk": gone,
    "each loosened in its own hunk": loosened,
    "the file deleted": lambda text: None,
}


@pytest.mark.parametrize("how", WEAKENINGS)
@pytest.mark.parametrize(("share", "count"), [(0.01, 1), (0.34, 3), (0.5, 3), (0.99, 6)])
def test_a_share_shows_that_many_tests_and_applies(tmp_path: Path, how: str, share: float, count: int) -> None:
    weaken, known = weakening(tmp_path, WEAKENINGS[how]), {FILE: TEXT}
    hidden = hidden_tests(weaken, known, IDS, share, "bug")
    assert len(IDS) - len(hidden) == count  # ceil(6 * share)
    shown = specification(weaken, known, hidden)
    after = applied(tmp_path, weaken, shown)
    weak = WEAKENINGS[how](TEXT) or ""
    for name in "abcdef":
        whole = TEXT[TEXT.index(f"# about {name}") :].split("\n\n\n")[0]
        visible = whole in after
        assert visible == (f"{FILE}::test_{name}" not in hidden), name
        if not visible and f"test_{name}" not in weak:
            assert f"test_{name}" not in shown
    assert ("import os" in after) and hidden == hidden_tests(weaken, known, IDS, share, "bug")


@pytest.mark.parametrize("how", WEAKENINGS)
def test_no_digest_of_a_hidden_test_is_shown(tmp_path: Path, how: str) -> None:
    """Git's id of the whole test file would tell a right guess of the rest from a wrong one."""
    weaken = weakening(tmp_path, WEAKENINGS[how])
    assert "index " in weaken
    shown = specification(weaken, {FILE: TEXT}, hidden_tests(weaken, {FILE: TEXT}, IDS, 0.5, "bug"))
    id = subprocess.run(["git", "hash-object", "--stdin"], input=TEXT.encode(), capture_output=True, check=True).stdout
    assert shown and id.decode()[:7] not in shown and "\nindex " not in shown


@pytest.mark.parametrize("how", WEAKENINGS)
def test_the_least_that_restores_a_failing_test(tmp_path: Path, how: str) -> None:
    """Of two tests that are weakened and may be shown: the diff of one applies, and restores that one alone."""
    weaken = weakening(tmp_path, WEAKENINGS[how])
    least, tests = least_failing(weaken, {FILE: TEXT}, IDS[:3], IDS[:1])
    assert len(tests) == 1 and tests < set(IDS[1:3])
    after = applied(tmp_path, weaken, least)
    name = next(iter(tests)).partition("::")[2]
    assert [one for one in "abcdef" if f"def test_{one}(" in least or f"assert x == {ord(one) - 97}" in least] == [
        name[-1]
    ]
    assert f"def {name}():\n    x = {ord(name[-1]) - 97}\n    assert x == {ord(name[-1]) - 97}\n" in after


def test_where_no_change_belongs_to_a_failing_test_none_restores_one(tmp_path: Path) -> None:
    weaken = weakening(tmp_path, loosened)
    assert least_failing(weaken, {FILE: TEXT}, [f"{FILE}::test_other"]) == ("", frozenset())
    assert least_failing(weaken, {FILE: TEXT}, IDS, IDS) == ("", frozenset())
    assert least_failing("", {}, IDS) == ("", frozenset())


def test_another_bug_hides_other_tests(tmp_path: Path) -> None:
    weaken = weakening(tmp_path, gone)
    assert len({hidden_tests(weaken, {FILE: TEXT}, IDS, 0.5, str(seed)) for seed in range(8)}) > 3


def test_the_whole_reverse_is_shown_by_default() -> None:
    weaken = hand_made.artifact("python").test_weaken
    assert specification(weaken, {}) == patches.reverse(weaken)
    assert hidden_tests(weaken, {}, ("a", "b"), 1.0, "") == ()


def test_tests_that_one_change_weakens_are_hidden_together(tmp_path: Path) -> None:
    def both(text: str) -> str:  # from inside a to inside b, with a line in between put in
        return text.replace(text[text.index("    assert x == 0") : text.index("    x = 1")], "    pass\n")

    weaken = weakening(tmp_path, both)
    assert hidden_tests(weaken, {FILE: TEXT}, IDS[:2], 0.5, "bug") == ()


def test_what_was_not_weakened_is_public(tmp_path: Path) -> None:
    weaken = weakening(
        tmp_path, lambda text: text.replace("    assert x == 0\n", "").replace("    assert x == 1\n", "")
    )
    hidden = hidden_tests(weaken, {FILE: TEXT}, IDS, 0.1, "bug")  # c to f lie open; one of a and b is shown with them
    assert len(hidden) == 1 and set(hidden) < set(IDS[:2])


def test_all_parameters_of_a_test_go_together(tmp_path: Path) -> None:
    weaken = weakening(tmp_path, gone)
    ids = [f"{FILE}::test_{name}[{number}]" for name in "ab" for number in range(3)]
    hidden = hidden_tests(weaken, {FILE: TEXT}, ids, 0.5, "bug")
    assert hidden in (tuple(ids[:3]), tuple(ids[3:]))


def test_methods_are_told_by_their_class(tmp_path: Path) -> None:
    text = "".join(f"class Test{c}:\n    def test_x(self):\n        assert {n}\n\n\n" for n, c in enumerate("AB"))
    weaken = weakening(tmp_path, lambda text: text.replace("assert", "assert 1 or"), text)
    ids = [f"{FILE}::TestA::test_x", f"{FILE}::TestB::test_x"]
    hidden = hidden_tests(weaken, {FILE: text}, ids, 0.5, "bug")
    assert len(hidden) == 1
    after = applied(tmp_path, weaken, specification(weaken, {FILE: text}, hidden))
    assert ("assert 1 or 0" in after, "assert 1 or 1" in after) == (hidden == (ids[0],), hidden == (ids[1],))


def test_javascript_by_its_tests_names(tmp_path: Path) -> None:
    text = "".join(f"test('says {n}', () => {{\n  assert.ok({n});\n}});\n" for n in range(4))
    weaken = weakening(tmp_path, lambda text: "", text, "a.test.js")
    ids = [f"says {n}" for n in range(4)]
    hidden = hidden_tests(weaken, {"a.test.js": text}, ids, 0.5, "bug")
    shown = specification(weaken, {"a.test.js": text}, hidden)
    assert len(hidden) == 2
    assert [name in shown for name in ids] == [name not in hidden for name in ids]


def test_tests_that_are_all_named_alike_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """160,000 ids of the same words for each of 100,000 weakened tests would be looked at for half an hour."""
    monkeypatch.setattr(weakening_parts, "MOST_LOOKED", 1000)
    known = weakening_parts.Tests([f"a b {'a ' * number}" for number in range(100)])
    with pytest.raises(PatchError, match="too many tests that are named alike"):
        for number in range(11):
            known.of(("a.test.js", f"a b {'b ' * number}"))


def test_a_file_without_a_newline_at_its_end(tmp_path: Path) -> None:
    text = TEXT.rstrip("\n")
    weaken = weakening(tmp_path, gone, text)
    for seed in range(6):
        hidden = hidden_tests(weaken, {FILE: text}, IDS, 0.5, str(seed))
        applied(tmp_path, weaken, specification(weaken, {FILE: text}, hidden))
        (tmp_path / FILE).write_text(text)


def test_no_share_is_an_error() -> None:
    with pytest.raises(ValueError, match="above 0"):
        hidden_tests("", {}, (), 0.0, "")
