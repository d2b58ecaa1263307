"""The scripted injector on small repositories of JavaScript and Go, with real `node` and `go`: bugs that pass every
check, that the original repairs, and that an empty patch does not."""

from pathlib import Path
from typing import Any

import pytest
from repository_fixtures import write

JAVASCRIPT = {
    "package.json": '{"name": "shop", "version": "1.0.0", "scripts": {"test": "node --test"}}\n',
    "lib/cart.js": """const { round } = require('./money.js');

/**
 * The sum of a cart.
 */
function total(items, tax = 0) {
  if (!Array.isArray(items)) {
    throw new TypeError('no items');
  }
  let sum = 0;
  for (const item of items) {
    if (item.free) {
      continue;
    }
    sum += item.cost * (item.count || 1);
  }
  if (sum > 100 && tax > 0) {
    sum = sum * 0.9;
  }
  return round(sum + sum * tax);
}

function names(items) {
  const found = items.filter((item) => item.name).map((item) => item.name.trim());
  if (found.length === 0) {
    return ['nothing'];
  }
  return found.slice().sort();
}

module.exports = { total, names };
""",
    "lib/money.js": """function round(value) {
  if (value < 0) {
    return -round(-value);
  }
  const cents = Math.floor(value * 100 + 0.5);
  return cents / 100;
}

function shown(value, sign = '$') {
  const text = round(value).toFixed(2);
  if (sign === '') {
    return text;
  }
  return sign + text;
}

module.exports = { round, shown };
""",
    "test/cart.test.js": """const { describe, it } = require('node:test');
const assert = require('node:assert');
const { total, names } = require('../lib/cart.js');

describe('total', () => {
  it('adds up', () => {
    assert.strictEqual(total([{ cost: 1 }, { cost: 2, count: 3 }]), 7);
    assert.strictEqual(total([]), 0);
  });
  it('leaves out what is free', () => assert.strictEqual(total([{ cost: 5, free: true }, { cost: 1 }]), 1));
  it('takes tax', () => {
    assert.strictEqual(total([{ cost: 10 }], 0.1), 11);
  });
  it('gives a discount', () => {
    assert.strictEqual(total([{ cost: 200 }], 0.5), 270);
    assert.strictEqual(total([{ cost: 200 }]), 200);
  });
  it('refuses what is no list', () => {
    assert.throws(() => total('x'), TypeError);
  });
});

describe('names', () => {
  it('are sorted', () => {
    assert.deepStrictEqual(names([{ name: 'b ' }, { name: 'a' }]), ['a', 'b']);
  });
  it('skips what has none', () => {
    assert.deepStrictEqual(names([{ cost: 1 }, { name: 'a' }]), ['a']);
  });
  it('says when there are none', () => {
    assert.deepStrictEqual(names([]), ['nothing']);
  });
});
""",
    "test/money.test.js": """const { test } = require('node:test');
const assert = require('node:assert');
const { round, shown } = require('../lib/money.js');

test('round', () => {
  assert.strictEqual(round(1.005001), 1.01);
  assert.strictEqual(round(-2.5), -2.5);
});
test('shown', () => {
  assert.strictEqual(shown(3), '$3.00');
  assert.strictEqual(shown(3, ''), '3.00');
});
test('shown with another sign', () => {
  assert.strictEqual(shown(1.5, 'E'), 'E1.50');
});
""",
}
GO = {
    "go.mod": "module example.com/shop\n\ngo 1.19\n",
    "cart.go": """package shop

import (
	"errors"
	"sort"
	"strings"
)

// Item is a line of a cart.
type Item struct {
	Name  string
	Cost  int
	Count int
	Free  bool
}

// Total is the sum of a cart, in cents.
func Total(items []Item, tax int) (int, error) {
	if tax < 0 {
		return 0, errors.New("no tax")
	}
	sum := 0
	for _, item := range items {
		if item.Free {
			continue
		}
		count := item.Count
		if count == 0 {
			count = 1
		}
		sum += item.Cost * count
	}
	if sum > 1000 && tax > 0 {
		sum = sum * 9 / 10
	}
	return sum + sum*tax/100, nil
}

// Names are the names in a cart, in order.
func Names(items []Item) []string {
	found := []string{}
	for _, item := range items {
		name := strings.TrimSpace(item.Name)
		if name == "" {
			continue
		}
		found = append(found, name)
	}
	sort.Strings(found)
	return found
}
""",
    "cart_test.go": """package shop

import (
	"reflect"
	"testing"
)

func TestTotal(t *testing.T) {
	tests := []struct {
		name  string
		items []Item
		tax   int
		want  int
	}{
		{"nothing", nil, 0, 0},
		{"two", []Item{{Cost: 1}, {Cost: 2, Count: 3}}, 0, 7},
		{"free", []Item{{Cost: 5, Free: true}, {Cost: 1}}, 0, 1},
		{"tax", []Item{{Cost: 100}}, 10, 110},
		{"discount", []Item{{Cost: 2000}}, 50, 2700},
		{"no discount", []Item{{Cost: 2000}}, 0, 2000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Total(tt.items, tt.tax)
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want {
				t.Errorf("got %d, want %d", got, tt.want)
			}
		})
	}
}

func TestTotalRefuses(t *testing.T) {
	if _, err := Total(nil, -1); err == nil {
		t.Error("no error")
	}
}

func TestNames(t *testing.T) {
	got := Names([]Item{{Name: "b "}, {}, {Name: "a"}})
	want := []string{"a", "b"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if len(Names(nil)) != 0 {
		t.Error("names of nothing")
	}
}
""",
}


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("files", [JAVASCRIPT, GO], ids=["javascript", "go"])
@pytest.mark.parametrize("strategy", ["removal", "direct"])
def test_a_bug_from_nothing_to_its_grade(selfplay: Any, tmp_path: Path, files: dict[str, str], strategy: str) -> None:
    source, out = write(tmp_path / "source", files), tmp_path / "run"
    made = selfplay("curriculum", source, "--out", out, "--bugs", 1, "--strategy", strategy)
    assert made.code == 0, made.err
    (bug,) = (out / "bugs").iterdir()
    suffix = ".go" if "go.mod" in files else ".js"
    changed = [line for line in (bug / "bug_inject.diff").read_text().split("\n") if line.startswith("+++")]
    assert changed and all(line.endswith(suffix) and "test" not in line for line in changed)
    gold = selfplay("solve", out, "--attempts", 1, "--policy", "gold", "--json")
    assert gold.code == 0 and gold.json["solving"]["gold"]["reasons"] == {"resolved": 1}, gold.err
    fix = tmp_path / "fix.diff"
    fix.write_text("")
    graded = selfplay("grade", bug, "--patch", fix, "--json")
    assert graded.code == 1 and graded.json["resolved"] is False
