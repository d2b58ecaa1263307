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


CSV = """package csv

type Writer struct{ comma rune }

func (w *Writer) Write(field string) string {
	if w.needsQuotes(field) {
		return `"` + field + `"`
	}
	return field
}

func (w *Writer) needsQuotes(field string) bool { return field == "," }

func (w *Writer) Flush() {}

func (w *Writer) elsewhere() {}
"""
WRITER = """class Writer {
  write(field) { return this.#quotes(field) ? this._quoted(field) : field }
  #quotes(field) { return field === ',' }
  _quoted(field) { return `"${field}"` }
}
module.exports = Writer
"""


@pytest.mark.parametrize(
    ("path", "text", "old", "new", "said"),
    [
        ("csv.go", CSV, "w.needsQuotes(field)", 'field == ";"', ("the private method needsQuotes is not used",)),
        ("csv.go", CSV, 'return field == ","', 'return field == ";"', ()),
        ("w.js", WRITER, "this.#quotes(field)", "field === ';'", ("the private method #quotes is not used",)),
        ("w.js", WRITER, "this._quoted(field)", "field", ("the private method _quoted is not used",)),
        ("w.js", WRITER, "=== ','", "=== ';'", ()),
    ],
)
def test_a_private_method_that_nothing_calls_any_more(
    path: str, text: str, old: str, new: str, said: tuple[str, ...]
) -> None:
    """A method that nobody in the file called before may be another file's of the package: `elsewhere`."""
    assert old in text
    assert faults(BelievableRules(), {path: text}, {path: text.replace(old, new)}) == tuple(
        f"{path}: {one}" for one in said
    )
