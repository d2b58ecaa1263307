"""`selfplay curriculum LIST.txt --ray-address`: bugs of three repositories, made on two nodes of one machine."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import tiny_repository
from ray.cluster_utils import Cluster as Nodes
from watching import Watcher, actors

from selfplay.cluster.errors import ClusterError
from selfplay.commands.curricula import here, run_list
from selfplay.commands.curricula_cluster import on_ray
from selfplay.commands.order import Order
from selfplay.commands.source_list import read_list
from selfplay.curriculum import read_pool
from selfplay.sandbox import Backend, Isolation


@pytest.fixture(scope="module")
def nodes(importable: None) -> Iterator[Nodes]:
    """Two nodes with a core each: a host on either."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_AUTH_TOKEN", raising=False)
        patch.setenv("RAY_AUTH_MODE", "disabled")
        found = Nodes(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        found.add_node(num_cpus=1)
        yield found
        found.shutdown()


@pytest.fixture(scope="module")
def listing(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("listing")
    other = {**tiny_repository.FILES, "README.md": "another shop\n"}
    tiny_repository.make(folder / "other", other)
    tiny_repository.make(folder / "broken", {"a.py": "x = 1\n"}, past=())
    path = folder / "list.txt"
    path.write_text(f"{shop}\n{folder / 'broken'}\n{folder / 'other'} bugs=2\n")
    return path


def ordered(listing: Path, out: Path) -> tuple[Order, list[Order]]:
    base = Order(str(listing), out, bugs=3, seed=3, workers=1)
    return base, read_list(listing, base)


@pytest.fixture(scope="module")
def in_one_process(listing: Path, backend: Backend, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "one"
    base, orders = ordered(listing, out)
    run_list(base, orders, here(base, backend, Watcher()), print)
    return out


class Killed(BaseException):
    """No error of a repository: nothing catches it, as nothing catches a kill."""


def bugs(out: Path) -> set[tuple[str, str]]:
    """Repository and content of each bug: hosts finish in no order."""
    with read_pool(out) as pool:
        homes = pool.homes()
        return {(homes[bug.id], bug.content_hash) for bug in pool.bugs()}


@pytest.mark.slow
def test_whoever_is_killed_the_bugs_are_those_of_one_process(
    nodes: Nodes, listing: Path, in_one_process: Path, tmp_path: Path
) -> None:
    """A host is killed when the first episode is stored, the driver after the third; the same command goes on. The
    repository without tests is named with its reason, and ends nothing."""
    out, struck = tmp_path / "run", list[str]()

    def strike(line: str) -> None:
        struck.extend([line] if ": episode " in line else [])
        if len(struck) == 1 and ": episode " in line:
            actors("HostActor")[0].kill()
        if len(struck) == 3 and ": episode " in line:
            raise Killed("here the driver was killed")

    base, orders = ordered(listing, out)
    with pytest.raises(Killed):
        run_list(base, orders, on_ray(base, Isolation(), nodes.address, Watcher(strike)), print)
    stored = len(struck)
    summary = run_list(base, orders, on_ray(base, Isolation(), nodes.address, Watcher(strike)), print)
    assert stored == 3 < len(struck) and bugs(out) == bugs(in_one_process)
    found = {Path(row["name"]).name: row for row in summary["repositories"]}
    assert {name: row["bugs"] for name, row in found.items()} == {"shop": 3, "broken": 0, "other": 2}
    assert found["broken"]["failed"] and "no test" in found["broken"]["stopped"]
    assert found["shop"]["minutes"] > 0 and json.loads((out / "summary.json").read_text()) == summary
    for name in ("original", "original-3"):
        assert files(out / name) == files(in_one_process / name)


def files(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        path.relative_to(folder).as_posix(): (path.read_bytes(), path.stat().st_mode & 0o100)
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_a_cluster_that_is_not_there(listing: Path, tmp_path: Path) -> None:
    base, orders = ordered(listing, tmp_path / "run")
    with pytest.raises(ClusterError, match=r"no Ray cluster can be used at 127\.0\.0\.1:1"):
        run_list(base, orders, on_ray(base, Isolation(), "127.0.0.1:1", Watcher()), print)
