"""Mutations and removals by tree: what they propose, and that what comes out still compiles by its names."""

import pytest

from selfplay.scripted.edits.cuts import Cut
from selfplay.scripted.tree_sitter.edits import made
from selfplay.scripted.tree_sitter.mutations import mutation_cuts
from selfplay.scripted.tree_sitter.removals import removal_cuts
from selfplay.syntax import grammar_of, parse
from selfplay.syntax.names import names

SHOP = """const util = require('util');

function total(items, { tax = 1, ...rest } = {}) {
  // what is dear goes first
  const sorted = items.slice().sort();
  let sum = 0;
  if (!sorted.length || tax < 0) {
    throw new TypeError('nothing');
  } else if (rest.free) {
    return 0;
  } else {
    sum = 1;
  }
  for (const item of sorted) {
    sum += item.cost;
  }
  try {
    sum = util.inspect(sum);
  } catch (error) {
    sum = String(error);
  }
  return { sum, name: rest.name ? 'utf8' : rest.title };
}

module.exports = total;
"""
STORE = """package store

import (
	"fmt"
	"strings"
)

func Find(names []string, wanted string) (int, error) {
	wanted = strings.TrimSpace(wanted)
	if wanted == "" && len(names) > 0 {
		return 0, fmt.Errorf("no name")
	}

	// the best one so far
	best, score := -1, 0
	for i, name := range names {
		if strings.HasPrefix(name, wanted) {
			best = i
		}
		score += 2
	}
	count, err := check(score)
	if err != nil {
		return count, err
	}
	switch count {
	case 1:
		best++
	case 2:
		best = 0
	}
	return best, nil
}
"""
FILES = {"shop.js": SHOP, "store.go": STORE}


def _proposed(path: str, way: str) -> list[Cut]:
    grammar = grammar_of(path)
    assert grammar is not None
    source = parse(grammar.name, FILES[path])
    cuts = mutation_cuts if way == "direct" else removal_cuts
    return [cut for function in source.functions() for cut in cuts(source, function)]


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        (
            "shop.js",
            {"moved a boundary", "changed a condition", "dropped a negation", "changed an error", "changed a default",
             "changed a constant", "changed an encoding", "set what was added to", "left out a copy"},
        ),
        (
            "store.go",
            {"moved a boundary", "changed a condition", "inverted a comparison", "changed a guard", "lost an error",
             "changed a constant", "set what was added to", "took the other end"},
        ),
    ],
)  # fmt: skip
def test_mutations_are_of_many_kinds(path: str, kinds: set[str]) -> None:
    assert {cut.what for cut in _proposed(path, "direct")} == kinds


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        (
            "shop.js",
            {"removed a branch of a condition", "removed an else branch", "removed error handling", "removed a loop",
             "removed a statement", "removed a condition", "removed a choice", "removed a step", "removed an option"},
        ),
        (
            "store.go",
            {"removed a condition", "removed a loop", "removed a statement", "removed a step", "removed a case"},
        ),
    ],
)  # fmt: skip
def test_removals_are_of_many_kinds(path: str, kinds: set[str]) -> None:
    assert kinds <= {cut.what for cut in _proposed(path, "removal")}


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize("way", ["direct", "removal"])
def test_what_is_made_has_no_new_loose_name(path: str, way: str) -> None:
    grammar = grammar_of(path)
    assert grammar is not None
    before = names(grammar.name, FILES[path])
    changes = [change for cut in _proposed(path, way) if (change := made(path, FILES[path], [cut]))]
    assert len(changes) > 8
    for change in changes:
        after = names(grammar.name, change.after or "")
        assert after.undefined <= before.undefined and set(after.unread) <= set(before.unread), change.after


def test_an_import_that_lost_its_last_use_goes_too() -> None:
    (cut,) = [cut for cut in _proposed("store.go", "removal") if cut.lines == ("\twanted = wanted",)]
    change = made("store.go", STORE, [cut])
    assert change is not None and change.after is not None and '"strings"' in change.after  # there is another use
    text = STORE.replace("strings.HasPrefix(name, wanted)", "name == wanted")
    change = made("store.go", text, [cut])
    assert change is not None and change.after is not None and '"strings"' not in change.after


def test_a_local_that_lost_its_last_use_becomes_a_blank() -> None:
    start = STORE.split("\n").index("\tif err != nil {") + 1
    change = made("store.go", STORE, [Cut(start, start + 2)])
    assert change is not None and "\tcount, _ := check(score)\n\tswitch count {\n" in (change.after or "")


def test_a_comment_goes_with_the_code_it_describes() -> None:
    start = STORE.split("\n").index("\t// the best one so far") + 1
    (cut,) = [cut for cut in _proposed("store.go", "removal") if (cut.start, cut.end) == (start, start + 1)]
    assert cut.lines == ()


def test_the_comment_above_the_first_statement_of_a_go_function_goes_too() -> None:
    text = "package p\n\nfunc F(a int) int {\n\t// one more\n\ta++\n\tb := g(a)\n\treturn b\n}\n"
    source = parse("go", text)
    cuts = [cut for function in source.functions() for cut in removal_cuts(source, function)]
    assert any((cut.start, cut.end) == (4, 5) for cut in cuts)


def test_documentation_goes_with_its_function() -> None:
    caller = "function f(x) {\n  go(x);\n  isOpen(x);\n}\nf();\n"
    text = f"/** Is it open?\n */\n\nfunction isOpen(x) {{\n  return x;\n}}\n\n{caller}"
    change = made("a.js", text, [Cut(10, 10)])
    assert change is not None and change.after == "function f(x) {\n  go(x);\n}\nf();\n"


def test_error_handling_leaves_its_body_where_it_stood() -> None:
    (cut,) = [cut for cut in _proposed("shop.js", "removal") if cut.what == "removed error handling" and cut.lines]
    assert cut.lines == ("  sum = util.inspect(sum);",)


def test_a_whole_body_is_no_removal() -> None:
    assert made("a.js", "function f(x) {\n  go(x);\n}\nf(1);\n", [Cut(2, 2)]) is None


def test_a_special_case_is_told_by_its_form() -> None:
    kinds = {cut.what for cut in _proposed("shop.js", "removal") if cut.case}
    assert {"removed a condition", "removed an else branch", "removed error handling", "removed a choice"} <= kinds
    plain = {cut.what for cut in _proposed("shop.js", "removal") if not cut.case}
    assert {"removed a loop", "removed a statement"} <= plain and not plain & {"removed a choice", "removed a step"}


@pytest.mark.parametrize(
    ("before", "special"),
    [
        ("const found = find(x);\n  ", True),  # it is made for the condition
        ("const other = find(x);\n  ", False),  # what follows reads it
        ("box.found = find(x);\n  ", False),
    ],
)
def test_what_is_set_for_a_condition_goes_with_it(before: str, special: bool) -> None:
    text = f"function f(x, box) {{\n  {before}if (found) {{\n    return 1;\n  }}\n  go(other);\n  return 2;\n}}\n"
    source = parse("javascript", text)
    (function,) = source.functions()
    (cut,) = [cut for cut in removal_cuts(source, function) if (cut.start, cut.end) == (2, 5)]
    assert bool(cut.case) is special


def test_a_case_goes_with_the_labels_that_share_its_code() -> None:
    cases = "    case 1:\n    case 2:\n      return 3;\n    default:\n      return 4;\n"
    text = f"function f(x) {{\n  switch (x) {{\n{cases}  }}\n}}\n"
    source = parse("javascript", text)
    (function,) = source.functions()
    cases = [(cut.start, cut.end) for cut in removal_cuts(source, function) if cut.what == "removed a case"]
    assert cases == [(3, 3), (3, 5)]  # one label alone, or both with what they do; never the default


def test_a_step_with_the_code_of_a_function_is_no_step() -> None:
    text = "function f(s) {\n  go(s);\n  return s.replace(/a/, (x) => {{\n    return x;\n  }}).trim();\n}\n".replace(
        "{{", "{"
    )
    source = parse("javascript", text.replace("}}", "}"))
    (function, _) = source.functions()
    steps = [cut for cut in removal_cuts(source, function) if cut.what == "removed a step"]
    assert (len(steps) == 1 and steps[0].lines == ("  })",)) or "trim" not in "".join(steps[0].lines)


def test_what_fits_into_one_line_is_joined() -> None:
    text = "function f(a) {\n  go(a);\n  const b =\n    a.first ??\n    (a.second && a.third);\n  return b;\n}\n"
    source = parse("javascript", text)
    (function,) = source.functions()
    lines = {cut.lines for cut in removal_cuts(source, function) if cut.what == "removed a condition"}
    assert ("  const b = a.first;",) in lines and ("    a.second);",) not in lines


def test_no_blank_line_is_left_at_the_edge_of_a_block() -> None:
    guards = "  if (a) {\n    return 1;\n  }\n  if (!a.b) {\n    return 2;\n  }\n"
    text = f"function f(a) {{\n{guards}\n  go(a);\n  return 3;\n}}\n"
    change = made("a.js", text, [Cut(2, 4), Cut(5, 7)])
    assert change is not None and change.after == "function f(a) {\n  go(a);\n  return 3;\n}\n"


def test_the_lines_of_two_far_changes_of_a_long_file_are_two_cuts() -> None:
    lines = [f"const name{n} = {n};" for n in range(1500)]
    text = "\n".join([*lines, "function f(a) {", "  go(a);", "  name7(a);", "  return a;", "}", "f(name0);", ""])
    read = "\n".join(f"go(name{n});" for n in range(1, 1500) if n != 7)
    change = made("a.js", f"{text}{read}\n", [Cut(1503, 1503)])
    assert change is not None and change.size == 2 and len(change.cuts) == 2
