"""What the reader makes of each kind of section, and that it takes nothing it cannot place."""

from time import process_time

import pytest

from selfplay.errors import SelfplayError
from selfplay.patches import PatchError, changed_lines, join, parse, reverse, touched_paths, units
from selfplay.patches.parse import REMEMBERED
from selfplay.patches.quoting import quote, unquote

MODIFIED = """\
diff --git a/src/a.py b/src/a.py
index 1111111..2222222 100644
--- a/src/a.py
+++ b/src/a.py
@@ -1,3 +1,3 @@ def f():
 one
-two
+TWO
 three
"""
ADDED = "diff --git a/n.py b/n.py\nnew file mode 100755\nindex 0000000..1111111\n--- /dev/null\n+++ b/n.py\n"
ADDED += "@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n"
EMPTY = "diff --git a/e b/e\nnew file mode 100644\nindex 0000000..e69de29\n"
DELETED = "diff --git a/d.py b/d.py\ndeleted file mode 100644\nindex 1111111..0000000\n--- a/d.py\n+++ /dev/null\n"
DELETED += "@@ -1 +0,0 @@\n-gone\n"
RENAMED = "diff --git a/o b b/n b\nsimilarity index 100%\nrename from o b\nrename to n b\n"
MODE = "diff --git a/run b/run\nold mode 100755\nnew mode 100644\n"
COPIED = "diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n"
BINARY = "diff --git a/i.png b/i.png\nindex bdc955b..350ed01 100644\nGIT binary patch\n"
BINARY += "literal 3\nKcmZQzVg>*J3IGNG\n\nliteral 2\nJcmZQz1ONa700IC2\n\n"
QUOTED = 'diff --git "a/caf\\303\\251 \\"x\\"" "b/caf\\303\\251 \\"x\\""\nold mode 100644\nnew mode 100755\n'
LINK = "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n"
LINK += "@@ -0,0 +1 @@\n+/etc\n\\ No newline at end of file\n"
CRLF = "diff --git a/w b/w\nindex 1..2\n--- a/w\n+++ b/w\n@@ -1 +1 @@\n-a\r\n+b\r\n".replace("1..2", "1111..2222")
ALL = {
    "modified": MODIFIED,
    "added": ADDED,
    "deleted": DELETED,
    "renamed": RENAMED,
    "mode": MODE,
    "copied": COPIED,
}


@pytest.mark.parametrize("kind", ALL)
def test_kinds(kind):
    (patch,) = parse(ALL[kind])
    assert patch.kind == kind
    assert patch.text == ALL[kind]


def test_details_of_a_modification():
    (patch,) = parse(MODIFIED)
    assert (patch.old_path, patch.new_path, patch.path, patch.paths) == (*["src/a.py"] * 3, ("src/a.py",))
    assert (patch.old_mode, patch.new_mode, patch.binary, patch.symlink) == ("100644", "100644", False, False)
    assert (patch.added_lines, patch.removed_lines) == (("TWO",), ("two",))
    (hunk,) = patch.hunks
    assert (hunk.old_start, hunk.old_count, hunk.new_start, hunk.new_count) == (1, 3, 1, 3)
    assert hunk.section == " def f():"


def test_sides_that_do_not_exist():
    added, deleted, empty = parse(ADDED + DELETED + EMPTY)
    assert (added.old_path, added.new_path, added.old_mode, added.new_mode) == (None, "n.py", None, "100755")
    assert (deleted.old_path, deleted.new_path, deleted.path) == ("d.py", None, "d.py")
    assert (empty.kind, empty.hunks, empty.new_mode) == ("added", (), "100644")


def test_names_with_spaces_and_quotes():
    renamed, quoted = parse(RENAMED + QUOTED)
    assert renamed.paths == ("o b", "n b")
    assert quoted.paths == ('café "x"',)


def test_binary_counts_no_lines_and_crlf_is_kept():
    binary, crlf = parse(BINARY + CRLF)
    assert binary.binary and binary.kind == "modified" and (binary.added, binary.removed) == (0, 0)
    assert crlf.added_lines == ("b\r",)


def test_links_are_noted():
    (patch,) = parse(LINK)
    assert patch.symlink


def test_of_the_whole_diff():
    text = MODIFIED + ADDED + RENAMED + BINARY
    assert touched_paths(text) == ("i.png", "n b", "n.py", "o b", "src/a.py")
    assert changed_lines(text) == 1 + 1 + 2
    assert join(parse(text)) == text
    assert parse("") == () and join(()) == ""


def test_what_depends_on_each_other_is_one_unit():
    to_link = DELETED.replace("d.py", "l") + LINK
    swap = RENAMED + RENAMED.replace("o b", "O").replace("n b", "o b").replace("O", "n b")
    nested = DELETED.replace("d.py", "p") + ADDED.replace("n.py", "p/n.py")
    groups = [tuple(patch.path for patch in unit) for unit in units(MODIFIED + to_link + swap + nested + ADDED)]
    assert groups == [("src/a.py",), ("l", "l"), ("n b", "o b"), ("p", "p/n.py"), ("n.py",)]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (MODIFIED.removesuffix("\n"), "does not end with a line end"),
        ("garbage\n" + MODIFIED, "line 1 of the diff: 'garbage' is not part"),
        (MODIFIED + "garbage\n", "line 10 of the diff: 'garbage'"),
        (MODIFIED + "\n", "is not part of a git diff"),
        (MODIFIED.split("\n", 2)[2], "is not part of a git diff"),
        (MODIFIED.replace("-1,3", "-1,4"), "shorter than its header"),
        (MODIFIED.replace("-1,3", "-1,2"), "does not match its header"),
        (MODIFIED.replace("@@ -", "@@ ~"), "malformed hunk header"),
        (MODIFIED.replace("-two", "!two"), "shorter than its header"),
        (MODIFIED.replace("-two\n+TWO", " two"), "does not match its header"),
        (MODIFIED.replace("+++ b/src/a.py\n", ""), "no '+++' line"),
        (MODIFIED.replace("+++ b/src/a.py", "+++ b/src/b.py"), "do not fit"),
        (MODIFIED.replace("--- a/src/a.py", "--- /dev/null"), "do not fit"),
        (MODIFIED.replace("a/src/a.py b/src/a.py", "a/src/a.py b/src/b.py"), "which file it is about"),
        (MODIFIED.replace("a/src", "src").replace("b/src", "src"), "which file it is about"),
        (MODIFIED.replace("a/src", "i/src").replace("b/src", "w/src"), "which file it is about"),
        (MODIFIED.replace("\n", "\r\n"), "unquoted control character"),
        (MODIFIED[: MODIFIED.index("@@")], "without a hunk"),
        (MODIFIED[: MODIFIED.index("---")], "changes nothing"),
        (MODIFIED + MODIFIED, "two sections for 'src/a.py'"),
        (RENAMED + DELETED.replace("d.py", "o b"), "two sections for 'o b'"),
        (MODIFIED.replace("src/a.py", "../a.py"), "it touches '../a.py'"),
        (MODIFIED.replace("src/a.py", "src/../../a.py"), "it touches"),
        (MODIFIED.replace("src/a.py", "/etc/passwd"), "it touches '/etc/passwd'"),
        (MODIFIED.replace("src/a.py", ".git/hooks/x"), "it touches '.git/hooks/x'"),
        (MODIFIED.replace("src/a.py", "sub/.GIT/config"), "it touches"),
        (RENAMED.replace("n b", "../n"), "it touches '../n'"),
        (RENAMED.replace("rename to n b\n", ""), "which file it is about"),
        (QUOTED.replace("\\303", "\\8"), "malformed"),
        (QUOTED.replace("\\251", "\\n"), "it touches"),
        (MODE.replace("run", "r\tn"), "control character"),
        (MODE.replace("new mode 100644\n", ""), "mode lines contradict"),
        (MODE.replace("100644", "160000"), "submodule"),
        (MODE.replace("100644", "104755"), "the mode '104755'"),
        (MODE + "old mode 100644\n", "a second 'old mode'"),
        (ADDED.replace("-0,0", "-1").replace("+one", "-one\n+one"), "the side that does not exist"),
        (EMPTY.replace("new file", "deleted file mode 100644\nnew file"), "contradict"),
        (BINARY[: BINARY.index("GIT")] + "Binary files a/i.png and b/i.png differ\n", "without its content"),
        (BINARY.replace("KcmZ", "K~\u00e9Z"), "not base 85"),
        (BINARY.replace("literal 3\n", ""), "without 'literal' or 'delta'"),
        (BINARY.removesuffix("\n"), "cut off"),
    ],
)
def test_nothing_else_gets_through(text, says):
    with pytest.raises(PatchError) as caught:
        parse(text)
    assert says in caught.value.message
    assert isinstance(caught.value, SelfplayError)


@pytest.mark.parametrize("name", ["plain", "sp ace", "caf\u00e9", 'q"', "back\\slash", "t\tb", "\x7f", "\udcff\x01"])
def test_quoting_is_undone(name):
    assert unquote(quote(name)) == name


def test_quoting_is_gits():
    assert quote("sp ace") == "sp ace"
    assert quote('é"\t\x01') == '"\\303\\251\\"\\t\\001"'


def test_what_cannot_be_reversed_says_so():
    with pytest.raises(PatchError, match="copy 'y' cannot be reversed"):
        reverse(COPIED)
    with pytest.raises(PatchError, match="no backward half"):
        reverse(BINARY[: BINARY.index("literal 2")])


def test_reversed_text():
    assert reverse(MODE) == "diff --git a/run b/run\nold mode 100644\nnew mode 100755\n"
    assert reverse(RENAMED).splitlines()[2:] == ["rename from n b", "rename to o b"]
    assert reverse(DELETED).splitlines()[1:] == [
        "new file mode 100644",
        "index 0000000..1111111",
        "--- /dev/null",
        "+++ b/d.py",
        "@@ -0,0 +1 @@",
        "+gone",
    ]


def test_a_diff_of_many_files_is_read_in_linear_time():
    """20,000 sections, the largest set of which hangs together; quadratic code would take minutes."""
    one = DELETED.replace("d.py", "p")
    many = "".join(EMPTY.replace("a/e b/e", f"a/p/{n} b/p/{n}") for n in range(20_000))
    start = process_time()
    assert [len(unit) for unit in units(one + many)] == [20_001]
    assert process_time() - start < 20


@pytest.mark.parametrize("names", ["b/x.py a/x.py", "x.py x.py"])
def test_names_of_other_settings_of_git_are_refused_with_what_writes_them(names: str) -> None:
    with pytest.raises(PatchError, match="does not say which file") as caught:
        parse(f"diff --git {names}\n--- x.py\n+++ x.py\n@@ -1 +1 @@\n-a\n+b\n")
    assert "`git diff -R` and `--no-prefix` write others" in caught.value.hint


def test_a_rename_without_its_first_name_is_an_error_of_the_diff():
    with pytest.raises(PatchError, match="does not say which file"):
        parse("diff --git a/a b/b\nsimilarity index 100%\nrename to b\n")


def test_a_diff_that_was_just_read_is_not_read_again() -> None:
    text = "diff --git a/x b/x\nnew file mode 100644\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+x\n"
    assert parse(text) is parse(text)
    large = text.replace("+x\n", f"+{'x' * REMEMBERED}\n")
    assert parse(large) == parse(large) and parse(large) is not parse(large)
    for _ in range(2):
        with pytest.raises(PatchError):
            parse(text + "more\n")
