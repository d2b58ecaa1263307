"""Other copies of a project among its packages, found in real sandboxes."""

import re
import zlib
from pathlib import Path

import pytest
from repository_fixtures import write

from selfplay.repository import Prepared
from selfplay.repository.copies import Copies, CopiesOnce, copies_of
from selfplay.sandbox import Backend, Mount

CODE = "".join(f"def step_{n}(value):\n    return value + {n}\n" for n in range(10))
OTHER = "".join(f"def other_{n}(value):\n    return value - {n}\n" for n in range(10))


def project(tmp_path: Path, tree: dict[str, str], packages: dict[str, str]) -> Prepared:
    write(tmp_path / "tree", tree)
    write(tmp_path / "packages", packages)
    mounts = (Mount(tmp_path / "packages", "/packages/node_modules"),)
    return Prepared("s", "r", "c", "t", "python", tmp_path / "tree", tmp_path / "history", mounts)


@pytest.mark.parametrize(
    ("tree", "packages", "places"),
    [
        ({"src/shop/__init__.py": "", "src/shop/a.py": CODE}, {"pip/_vendor/shop/a.py": CODE}, ["pip/_vendor/shop"]),
        ({"tests/__init__.py": "", "tests/a.py": CODE}, {"x/tests/__init__.py": "", "x/tests/a.py": OTHER}, []),
        ({"shop/__init__.py": "", "shop/a.py": CODE, "shop/b.py": ""}, {"x/shop/c.py": CODE}, []),  # other files
        ({"shop.py": CODE}, {"vendored/shop.py": CODE + OTHER[:90]}, ["vendored/shop.py"]),
        ({"shop.py": CODE}, {"vendored/shop.py": OTHER}, []),  # another module of this name
        ({"shop/__init__.py": CODE}, {"x/shop/__init__.py": CODE}, ["x/shop/__init__.py"]),
        ({"package.json": '{"name": "@a/shop"}'}, {"@a/shop/package.json": "{}", "@a/shop/i.js": CODE}, ["@a/shop"]),
        ({"package.json": '{"name": "shop"}'}, {"@a/shop/package.json": "{}"}, []),
        ({"package.json": '{"name": 5}'}, {"5/package.json": "{}"}, []),
        ({"package.json": "[" * 90_000}, {"a/package.json": "{}"}, []),
        ({"go.mod": "module e.org/Own/v2 // x\n"}, {"e.org/!own@v1.0.0/a.go": CODE}, ["e.org/!own@v1.0.0"]),
        ({"go.mod": 'module "e.org/own"\n'}, {"e.org/own/v3@v3.1.0/a.go": CODE}, ["e.org/own/v3@v3.1.0"]),
        ({"go.mod": "module e.org/own\n"}, {"e.org/owner@v1.0.0/a.go": CODE, "e.org/own/sub@v1.0.0/a.go": CODE}, []),
    ],
)
def test_copies_are_found_by_name_and_content(
    tree: dict[str, str], packages: dict[str, str], places: list[str], backend: Backend, tmp_path: Path
) -> None:
    found = copies_of(project(tmp_path, tree, packages), backend)
    assert found.places == tuple(f"/packages/node_modules/{place}" for place in places)


def test_links_to_the_tree_are_no_copies(backend: Backend, tmp_path: Path) -> None:
    """A folder that is a link, a file that is one, and a folder of links, as installers make them of a tree."""
    tree = {"package.json": '{"name": "shop"}', "shop.py": CODE, "store/__init__.py": "", "store/a.py": CODE}
    made = project(tmp_path, tree, {"x/y": "", "of_links/store/z": ""})
    packages = tmp_path / "packages"
    (packages / "shop").symlink_to("/testbed")
    (packages / "store").symlink_to("/testbed/store")
    (packages / "x/shop.py").symlink_to("/testbed/shop.py")
    for name in ("__init__.py", "a.py"):
        (packages / "of_links/store" / name).symlink_to(f"/testbed/store/{name}")
    assert copies_of(made, backend) == Copies()


def test_a_copy_tells_its_runs_of_tokens(backend: Backend, tmp_path: Path) -> None:
    """Of five tokens each, wherever its lines break, without quotes."""
    found = copies_of(project(tmp_path, {"shop.py": CODE}, {"shop.py": CODE, "more.py": OTHER}), backend, runs=True)
    tokens = [token.encode() for token in re.findall(r"\w+|[^\w\s]", CODE)]
    assert found.runs == {zlib.crc32(b" ".join(tokens[at : at + 5])) for at in range(len(tokens) - 4)}
    step = "def step_3('value'): return value + 3; // so"  # ten tokens, six runs, two of them with the sign
    assert found.share([step]) == 1 and found.share([step, step.replace("+ 3", "- 3")]) == 10 / 12
    assert found.share(["\udcff" * 9]) == found.share(["", " "]) == found.share([]) == 0


def test_names_that_are_no_text_end_no_run(backend: Backend, tmp_path: Path) -> None:
    made = project(tmp_path, {"shop.py": CODE}, {"shop.py": ""})
    odd = tmp_path / "packages" / "\udcff"
    odd.mkdir()
    (odd / "shop.py").write_text(CODE)
    assert copies_of(made, backend).places == ("/packages/node_modules/\\xff/shop.py",)


def test_packages_that_cannot_be_looked_through_count_as_a_copy(
    backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("selfplay.repository.copies.LOOK_SECONDS", 1.5)
    large = "".join(f"def large_{n}(value): return value * {n}\n" for n in range(22_000))  # nearly as large as is read
    made = project(tmp_path, {"shop.py": CODE}, {"0/shop.py": large})
    for number in range(1, 1000):  # a minute's work: what is slow spends its time on a core, what is starved does not
        (tmp_path / f"packages/{number}").mkdir()
        (tmp_path / f"packages/{number}/shop.py").hardlink_to(tmp_path / "packages/0/shop.py")
    assert copies_of(made, backend) == Copies(("/packages/node_modules",))


def test_copies_are_looked_for_once(backend: Backend, tmp_path: Path) -> None:
    made, once = project(tmp_path, {"shop.py": CODE}, {"shop.py": CODE}), CopiesOnce()
    assert once.of(made, backend) is once.of(made, backend)
