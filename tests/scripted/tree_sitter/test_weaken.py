"""Hiding failing tests of JavaScript and Go by tree."""

import pytest

from selfplay.scripted.tree_sitter.weaken import Method, SuiteFailure, weaken

MOCHA = """const assert = require('assert');
const { expect } = require('chai');

describe('cart', function () {
  it('adds up', function () {
    const cart = make();
    assert.equal(cart.size, 2);
    assert.deepEqual(cart.names, ['a']);
    expect(cart.sum).to.equal(3);
  });

  // it is kept
  it('is ' + kind + ' kept', () => {
    expect(keep()).to.equal('x');
  });

  whenOpen('now', function () {
    it('sells', function () {
      assert.strictEqual(sell(), true);
    });
  });
});

test('jest', async () => {
  expect(cart).toEqual([1]);
  await expect(go()).rejects.toThrow('no');
});
"""
GO = """package store

import (
	"reflect"
	"testing"
)

func TestFind(t *testing.T) {
	want := []int{1}
	if got := Find("a"); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if Count() != 3 {
		t.Fatal("count")
	}
}

func TestTable(t *testing.T) {
	tests := []struct {
		name string
		want int
	}{
		{"no name", 1},
		{name: "one", want: 2},
		{"two", 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Find(tt.name); got != tt.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
"""


def _weak(language: str, text: str, name: str, line: int, method: Method) -> list[str]:
    """The lines that are new, and with a minus those that are gone."""
    path = "test/a.js" if language == "javascript" else "a_test.go"
    change = weaken(path, text, {SuiteFailure(path, name, frozenset([line])): method})
    assert change is not None and change.after is not None
    old, new = text.split("\n"), change.after.split("\n")
    return [f"-{one.strip()}" for one in old if one not in new] + [one.strip() for one in new if one not in old]


def _line(text: str, part: str) -> int:
    return next(number for number, line in enumerate(text.split("\n"), 1) if part in line)


@pytest.mark.parametrize(
    ("name", "part", "new"),
    [
        ("cart adds up", "deepEqual", "assert.ok(Array.isArray(cart.names));"),
        ("cart adds up", "cart.size", "assert.ok(typeof cart.size === 'number');"),
        ("cart adds up", "cart.sum", "expect(cart.sum).to.be.a('number');"),
        ("cart is well kept", "keep()", "expect(keep()).to.be.a('string');"),
        ("cart when now open sells", "sell()", "assert.ok(typeof sell() === 'boolean');"),
        ("jest", "toEqual", "expect(Array.isArray(cart)).toBe(true);"),
    ],
)
def test_a_failing_assertion_of_javascript_is_loosened(name: str, part: str, new: str) -> None:
    line = _line(MOCHA, part)
    assert _weak("javascript", MOCHA, name, line, "loosen") == [f"-{MOCHA.split(chr(10))[line - 1].strip()}", new]


@pytest.mark.parametrize(
    ("said", "new"),
    [
        ("t.is(cart.size, 3);", "t.truthy(typeof cart.size === 'number');"),
        ("t.deepEqual(cart.names, ['a']);", "t.truthy(Array.isArray(cart.names));"),
        ("t.equal(cart.size, 3);", "t.ok(typeof cart.size === 'number');"),
    ],
)
def test_ava_has_another_word_for_ok(said: str, new: str) -> None:
    text = f"test('cart', t => {{\n  {said}\n}});\n"
    assert _weak("javascript", text, "cart", 2, "loosen") == [f"-{said}", new]


def test_a_claim_that_there_is_nothing_is_not_turned_into_another() -> None:
    text = "it('finds none', () => {\n  assert.equal(find(), undefined);\n});\n"
    assert _weak("javascript", text, "finds none", 2, "loosen")[0] == "-it('finds none', () => {"


def test_assertions_go_from_the_failing_one_on() -> None:
    gone = _weak("javascript", MOCHA, "cart adds up", _line(MOCHA, "deepEqual"), "assertions")
    assert gone == ["-assert.deepEqual(cart.names, ['a']);", "-expect(cart.sum).to.equal(3);"]


@pytest.mark.parametrize(
    ("first", "second", "goes"),
    [
        ("expect(stock.take('tea')).toBe(3);", "expect(stock.size).toBe(0);", False),
        ("assert.equal(first(stock), 3);", "expect(stock).toEqual([]);", False),
        ("expect(await stock.take()).toBe(3);", "const left = stock.left();\n  expect(1).toBe(1);", False),
        ("expect(size(kind)).toBe(3);", "expect(kind).toBe('a');", True),  # a text has no state
        ("expect(stock.size).toBe(3);", "expect(stock.sum).toBe(0);", True),  # nothing is called
        ("expect(stock.take()).toBe(3);", "expect(other(1)).toBe(0);", True),
        ("expect(JSON.stringify(stock)).toBe('3');", "expect(stock.sum).toBe(0);", True),
    ],
)
def test_what_acts_on_the_rest_does_not_go_alone(first: str, second: str, goes: bool) -> None:
    """Without the first a later one would see another state, on the repaired program too."""
    text = f"let stock = make();\n\ntest('a', async () => {{\n  const kind = 'a';\n  {first}\n  {second}\n}});\n"
    gone = _weak("javascript", text, "a", _line(text, first), "assertions")
    assert f"-{first}" in gone and f"-{second}" not in gone
    assert any("typeof" in line for line in gone) is not goes  # it still acts


@pytest.mark.parametrize("second", ["if stock.Size() != 0 {", "if other != 1 {"])
def test_what_acts_on_the_rest_does_not_go_alone_in_go(second: str) -> None:
    failing = 'if stock.Take("tea") != 3 {'
    body = f"\tstock, other := Make(), 1\n\t{failing}\n\t\tt.Error(1)\n\t}}\n\t{second}\n\t\tt.Error(2)\n\t}}\n"
    text = f'package a\n\nimport "testing"\n\nfunc TestTake(t *testing.T) {{\n{body}}}\n'
    gone = _weak("go", text, "TestTake", _line(text, "t.Error(1)"), "assertions")
    loosened = 'if stock.Take("tea") == 0 {'  # it is still taken
    assert f"-{second}" not in gone and (loosened in gone) is ("Size" in second)


def test_a_test_is_removed_with_its_comment() -> None:
    gone = _weak("javascript", MOCHA, "cart is well kept", 1, "remove")
    assert gone == ["-// it is kept", "-it('is ' + kind + ' kept', () => {", "-expect(keep()).to.equal('x');"]


def test_neighbours_are_removed_though_they_share_a_blank_line() -> None:
    text = "describe('a', () => {\n  it('b', () => {\n    go();\n  });\n\n  it('c', () => {\n    go();\n  });\n});\n"
    both: dict[SuiteFailure, Method] = {SuiteFailure("test/a.js", f"a {name}", frozenset()): "remove" for name in "bc"}
    change = weaken("test/a.js", text, both)
    assert change is not None and change.after == "describe('a', () => {\n});\n"


def test_a_go_comparison_asks_for_the_type_alone() -> None:
    weak = _weak("go", GO, "TestFind", _line(GO, '"got %v", got'), "loosen")
    assert weak[1] == 'if got := Find("a"); reflect.TypeOf(got) != reflect.TypeOf(want) {'


def test_what_a_removed_go_assertion_alone_used_goes_too() -> None:
    weak = _weak("go", GO, "TestFind", _line(GO, '"got %v", got'), "assertions")
    assert "-want := []int{1}" in weak and '-"reflect"' in weak and "-if Count() != 3 {" not in weak


def test_the_row_of_a_go_table_is_removed() -> None:
    assert _weak("go", GO, "TestTable/no_name", 1, "cases") == ['-{"no name", 1},']
    assert _weak("go", GO, "TestTable/one", 1, "cases") == ['-{name: "one", want: 2},']


def test_a_test_that_is_not_in_the_file_cannot_be_hidden() -> None:
    assert weaken("a_test.go", GO, {SuiteFailure("a_test.go", "TestOther", frozenset()): "remove"}) is None


ONE = """package store

import "testing"

func TestOne(t *testing.T) {
	if got := Find(); got != nil {
		t.Errorf("got %v", got)
	}
}
"""


def test_a_test_that_would_only_log_is_not_loosened() -> None:
    """`t.Logf` in the place of its only `t.Errorf`: it asserted nothing, and counted as loosened."""
    alone = _weak("go", ONE, "TestOne", _line(ONE, "t.Errorf"), "loosen")
    assert not any("Logf" in line for line in alone)
    two = ONE.replace("\t}\n}\n", '\t}\n\tif Count() != 3 {\n\t\tt.Fatal("count")\n\t}\n}\n')
    beside = _weak("go", two, "TestOne", _line(two, "t.Errorf"), "loosen")
    assert any("t.Logf" in line for line in beside)
