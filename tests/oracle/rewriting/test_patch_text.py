"""What a patch does to a text, which no tree holds."""

import pytest

from selfplay.oracle.rewriting.patch_text import of_text

TEXT = (
    '"""A shop."""\n' + "".join(f"# comment {n}\n" for n in range(9)) + '\ndef f(x):\n    """Sells."""\n    return x\n'
)
BUGGY = TEXT.replace("return x", "return 1")


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("return x", "return x or 0", ""),
        ("Sells", "Sells one", ""),
        ("# comment 1\n# comment 2\n", "", ""),
        ("# comment 1", "# é and ☃", ""),
        ("comment 1", "comment \u202e1", "it has a letter that is not seen (U+202E)"),
        ("return x", "return x  # \u200b", "it has a letter that is not seen (U+200B)"),
        ("return x", "х = x\n    return х", "the name `х` has letters that look like others"),  # noqa: RUF001
        ("\n", "\r\n", "its line ends are others"),
        ('    """Sells."""\n', "", "the documentation of `f` is gone, which the bug left as it was"),
        ('"""A shop."""', "", "the documentation of `the module` is gone, which the bug left as it was"),
    ],
)
def test_what_is_said_of_a_text(old: str, new: str, said: str) -> None:
    assert list(of_text((TEXT, BUGGY), TEXT.replace(old, new))) == ([said] if said else [])


def test_comments_that_are_gone_are_counted() -> None:
    bare = "\n".join(line for line in TEXT.split("\n") if not line.startswith("#"))
    assert list(of_text((TEXT, BUGGY), bare)) == ["9 comments are gone, which the bug left as they were"]
    assert list(of_text((TEXT, bare), bare)) == []  # the bug took them away
