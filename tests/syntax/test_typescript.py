"""What TypeScript's types bind and read, and which files a file loads."""

import pytest

from selfplay.syntax import parse
from selfplay.syntax.grammar import FAMILIES, grammar_of
from selfplay.syntax.imports import imported, loading, resolved, turned
from selfplay.syntax.names import names

SHOP = """
import type { Rate, Unused } from './rates';
import lists, { type Item, sum as total } from './lists.js';
import old = require('./old');
import { injected } from './marks';
import Near = Shop.Inner;
export interface Priced<T> { [key: string]: T; price(item: Item, times?: number): Rate; }
type Pair = [left: Kind, right: typeof total];
enum Kind { One = 1, Two = One }
abstract class Base { abstract open(to: string): void; }
declare function tax(of: number): number;
function isItem(x: unknown): x is Item { return total(x as Pair); }
class Cart<T extends Base> extends Base implements Priced<T> {
  constructor(@injected() private readonly store: Map<string, T>, spare: number, public open = total) { super(); }
  each = (visit: (item: T, at: number) => void): void => this.items!.forEach(visit);
  price(this: Cart<T>, { size }: Item, rate: Rate = lists[0], ...more: number[]): number {
    const unused: number = tax(size satisfies number) + isItem(rate);
    try { return more.length; } catch (error: unknown) { return missing(old); }
  }
}
namespace Far.Off { export type Kept = Near; }
namespace Shop { export namespace Inner {} export const opened = new Cart<Base>(<any>null); }
"""
VIEW = (
    "import { Card } from './card';\nexport const Row = (p: { name: string }) => <Card>{p.name}<b>{gone}</b></Card>;\n"
)


def test_types_are_bound_and_read() -> None:
    found = names("typescript", SHOP)
    assert found.undefined == {"missing"}
    assert found.of("import") == {"Unused"}
    assert found.of("local") == {"price.unused"}
    assert found.of("function") == frozenset()
    assert found.unread_parameters == {"constructor.spare", "price.error"}


def test_a_view() -> None:
    assert names("tsx", VIEW).undefined == {"gone"}


@pytest.mark.parametrize(
    ("path", "name", "family"),
    [
        ("a.ts", "typescript", "javascript"),
        ("a.mts", "typescript", "javascript"),
        ("a.tsx", "tsx", "javascript"),
        ("a.jsx", "javascript", "javascript"),
        ("a.go", "go", "go"),
    ],
)
def test_a_file_has_the_grammar_of_its_name(path: str, name: str, family: str) -> None:
    grammar = grammar_of(path)
    assert grammar is not None
    assert (grammar.name, grammar.family) == (name, family) and family in FAMILIES


LOADING = """
import { a } from './a.js';
import './b';
export * from '../lib';
export { c } from "./c.mjs";
import type { T } from './types';
const d = require('./d'), e = await import('./e/'), f = require(name);
import g from 'package';
import h = require('./h');
"""


def test_what_a_file_imports_by_paths() -> None:
    found = imported(parse("typescript", LOADING))
    assert found == {"./a.js", "./b", "../lib", "./c.mjs", "./types", "./d", "./e/", "./h"}
    assert imported(parse("go", 'package a\n\nimport "./b"\n')) == frozenset()


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("./a.js", "src/a.ts"),
        ("./b", "src/b.mjs"),
        ("../lib", "lib/index.ts"),
        ("../lib/", "lib/index.ts"),
        ("..", None),
        ("../../../etc/passwd", None),
        ("./b.mjs", "src/b.mjs"),
        ("./view.js", "src/view.tsx"),
    ],
)
def test_the_file_that_a_path_means(name: str, found: str | None) -> None:
    files = {"src/a.ts", "src/b.mjs", "lib/index.ts", "src/view.tsx"}
    assert resolved("src/test.ts", name, files) == found


def test_what_loads_a_file_through_others() -> None:
    loaded_by = turned({"test": ["a"], "a": ["b", "test"], "b": [], "c": ["a"]})
    assert loading(["b"], loaded_by) == {"b", "a", "test", "c"}
    assert loading(["c", "lost"], loaded_by) == {"c", "lost"}
