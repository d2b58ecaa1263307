"""Names that nothing binds or reads, by tree."""

import pytest

from selfplay.syntax import parse
from selfplay.syntax.names import names
from selfplay.syntax.source import Unreadable

SHOP = """
const { tax, fee: extra = 3, ...rest } = require('./rates');
import lists, { sum as total } from './lists';
function price(item, { size }, [first], times = 2) {
  let unused = item.cost;
  for (const part of item.parts) { times += part.count; }
  try { return total(size, first, tax(times), extra); } catch (error) { return missing(item); }
}
class Cart { #items = []; add(item) { this.#items.push({ item, price }); } }
export const open = () => new Cart();
label: while (true) { break label; }
"""
STORE = """package store

import (
	"fmt"
	yaml "gopkg.in/yaml.v3"
	"example.com/go-lists/v2"
)

type Item struct{ Cost int }

func (i *Item) Price(times int) (total int, err error) {
	unused := i.Cost
	for n, part := range parts(i) {
		total += part.Count * times
	}
	switch kind := any(i).(type) {
	case *Item:
		return total, fmt.Errorf("%v", kind)
	}
	values := Item{Cost: 1}
	return lists.Sum(values), err
}
"""


def test_javascript() -> None:
    found = names("javascript", SHOP)
    assert found.undefined == {"missing"}
    assert found.of("import") == {"rest", "lists"}
    assert found.of("local") == {"price.unused"}
    assert found.of("function") == frozenset()


def test_a_function_that_nobody_calls_and_one_that_is_exported() -> None:
    found = names(
        "javascript", "function lost() {}\nexport function shown() {}\nmodule.exports.made = function () {};\n"
    )
    assert found.of("function") == {"lost"}


def test_what_is_only_written_is_not_read() -> None:
    found = names("javascript", "function f() { let a = 0, b = 0, c; a = 1; b++; return c = 2; }\nf();\n")
    assert found.of("local") == {"f.a", "f.b"}


def test_a_var_lives_in_the_whole_function_and_a_let_in_its_block() -> None:
    found = names("javascript", "function f(x) { if (x) { var a = 1; let b = 2; } return a + b; }\nf();\n")
    assert found.undefined == {"b"} and found.of("local") == {"f.b"}


def test_go() -> None:
    found = names("go", STORE)
    assert found.undefined == {"parts"}  # another file of the package may have it
    assert found.of("import") == {"yaml"}
    assert found.of("local") == {"Item.Price.unused", "Item.Price.n"}


def test_a_go_name_that_is_bound_again_beside_a_new_one() -> None:
    text = "package p\n\nfunc f() error {\n\ta, err := g()\n\tb, err := h(a)\n\tuse(b)\n\treturn err\n}\n"
    assert names("go", text).of("local") == frozenset()


def test_a_text_with_an_error_is_not_read() -> None:
    with pytest.raises(Unreadable, match="a syntax error in go"):
        parse("go", "package p\n\nfunc f( {\n")
