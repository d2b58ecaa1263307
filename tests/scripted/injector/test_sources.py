"""The sources of a JavaScript repository, TypeScript's among them, and which tests load which."""

from pathlib import Path

import pytest
from repository_fixtures import write

from selfplay.scripted.injector import sources as sources_module
from selfplay.scripted.injector.sources import read_sources

FILES = {
    "src/add.ts": "export function add(a: number, b: number): number {\n  const sum = a + b;\n  return sum;\n}\n",
    "src/shop.ts": "import { add } from './add.js';\n"
    "export function price(n: number) {\n  n++;\n  return add(n, n);\n}\n",
    "src/types.d.ts": "export declare function add(a: number): number;\n",
    "test/add.test.ts": "import { add } from '../src/add';\nit('adds', () => expect(add(1, 2)).toBe(3));\n",
    "test/shop.test.js": "const { price } = require('../src/shop');\nit('prices', () => expect(price(1)).toBe(4));\n",
    "test/whole.test.js": "const own = require('own');\nit('works', () => own);\n",
}


def test_typescript_is_read_in_a_repository_of_javascript(tmp_path: Path) -> None:
    sources = read_sources(write(tmp_path, FILES), "javascript")
    assert {*sources.texts} == {*FILES} - {"src/types.d.ts"}
    assert [(place.path, place.name, place.named) for place in sources.places] == [
        ("src/add.ts", "add", True),
        ("src/shop.ts", "price", True),
    ]
    assert not sources.unparsed


def test_files_that_take_too_long_together_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources_module, "MOST_SECONDS", -1)
    sources = read_sources(write(tmp_path, FILES), "javascript")
    assert not sources.places and sources.unparsed["src/add.ts"] == "to parse the files before it took -1 s"


def test_the_tests_that_load_a_file(tmp_path: Path) -> None:
    sources = read_sources(write(tmp_path, FILES), "javascript")
    assert sources.tests_loading({"src/add.ts"}) == {"test/add.test.ts", "test/shop.test.js"}
    assert sources.tests_loading({"src/shop.ts"}) == {"test/shop.test.js"}
    assert sources.tests_loading({"test/whole.test.js"}) == {"test/whole.test.js"}
    assert sources.tests_loading(set()) == frozenset()
