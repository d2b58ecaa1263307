"""The rules of believable bugs in JavaScript and Go."""

import pytest

from selfplay.believable import BelievableRules, faults

CODE = """const path = require('path');
function name(file) {
  const base = path.basename(file);
  return base.trim();
}
module.exports = { name };
"""
GO = """package shop

import "strings"

func Name(file string) string {
	file = strings.TrimSpace(file)
	return clean(file)
}
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "base.trim()",
            "bass.trim()",
            ("lib/name.js: bass is not defined", "lib/name.js: the local name.base is not used"),
        ),
        ("path.basename(file)", "file", ("lib/name.js: the import path is not used",)),
        ("return base.trim();", "return path.base(", ("lib/name.js: has a syntax error",)),
        ("base.trim()", "base", ()),
    ],
)
def test_javascript(old: str, new: str, said: tuple[str, ...]) -> None:
    assert faults(BelievableRules(), {"lib/name.js": CODE}, {"lib/name.js": CODE.replace(old, new)}) == said


def test_go() -> None:
    after = GO.replace("strings.TrimSpace(file)", "file[1:]")
    assert faults(BelievableRules(), {"name.go": GO}, {"name.go": after}) == (
        "name.go: the import strings is not used",
    )


def test_a_new_file_of_a_go_package_may_use_its_names() -> None:
    assert (
        faults(
            BelievableRules(),
            {},
            {"more.go": "package shop\n\nfunc More(a string) string {\n\treturn Name(a) + tail()\n}\n"},
        )
        == ()
    )
