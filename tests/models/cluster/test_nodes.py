"""Actors on two nodes of one machine, with GPUs that are not there: a node that is lost, and a cluster too small."""

import asyncio
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray
from ray.cluster_utils import Cluster as Nodes

from selfplay.agent.model import ModelError, Sample, Sampling
from selfplay.cluster.actors import engine_actors
from selfplay.cluster.engines import Engines, RemoteEngine
from selfplay.cluster.errors import ClusterError
from selfplay.cluster.ray_session import joined
from selfplay.loop.machine import Cluster
from selfplay.rollout.model_player import TokenSide


class Echo:
    """An engine that says which version of the weights it has, and dies or hangs when its weights say so."""

    name, context = "echo", 100

    def __init__(self) -> None:
        self.weights = 0

    async def sample(self, prompt: Any, sampling: Sampling, stop: Any) -> Sample:
        if prompt[0] < 0:
            raise ModelError("no negative ids")
        await asyncio.sleep(0.05)
        return Sample((self.weights,), (0.0,), False, tuple(prompt), (self.weights, self.weights))

    async def reload(self, folder: str, version: int) -> None:
        if Path(folder).name == "refused":
            raise ModelError("these weights are torn")
        self.weights = version

    async def close(self) -> None:
        """It holds nothing."""


@dataclass
class Written:
    """A learner whose weights lie in a folder."""

    folder: Path
    version: int

    async def write(self) -> Path:
        return self.folder


async def opened() -> TokenSide:
    chat: Any = SimpleNamespace()
    return TokenSide(Echo(), chat)


async def unopened() -> TokenSide:
    raise ModelError("there is no such model", "Name another.")


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("RAY_AUTH_TOKEN", raising=False)
        patch.setenv("RAY_AUTH_MODE", "disabled")
        found = Nodes(initialize_head=True, head_node_args={"num_cpus": 1, "num_gpus": 1, "include_dashboard": False})
        yield found
        found.shutdown()


WANTED = Cluster(engines=2, engine_gpus=1)


def test_engines_of_a_lost_node_come_back_with_the_present_weights(nodes: Nodes, tmp_path: Path) -> None:
    """Two nodes with a GPU each. The second is lost after an update; its engine waits for a GPU, and episodes of both
    go on at the other; a third node comes, and the engine there has the weights of the update."""
    second = nodes.add_node(num_cpus=1, num_gpus=1)

    async def played() -> None:
        engines = Engines(engine_actors(WANTED, opened, WANTED.engines))
        await engines.open()
        assert engines.facts is not None and (engines.facts.name, engines.facts.context) == ("echo", 100)
        await engines.sync(Written(tmp_path / "1", 1))
        remote = RemoteEngine(engines.actors, "echo", 100)
        models = [remote.for_episode("solver", f"episode {n}") for n in range(8)]
        assert {one.ids for one in await asyncio.gather(*(m.sample([1], Sampling(), ()) for m in models))} == {(1,)}
        nodes.remove_node(second)
        found = await asyncio.gather(*(m.sample([1], Sampling(), ()) for m in models))
        assert {one.versions for one in found} == {(1, 1)}, "no token of the weights that the model was opened with"
        nodes.add_node(num_cpus=1, num_gpus=1)
        await engines.sync(Written(tmp_path / "2", 2))
        remote.at_least(2)
        found = await asyncio.gather(*(m.sample([1], Sampling(), ()) for m in models))
        assert {one.versions for one in found} == {(2, 2)}
        with pytest.raises(ModelError, match="no negative ids"):
            await models[0].sample([-1], Sampling(), ())
        await engines.close()

    with joined(WANTED, nodes.address):
        asyncio.run(played())


def test_an_engine_that_refuses_weights_is_started_anew_until_it_is_one_too_many(nodes: Nodes, tmp_path: Path) -> None:
    async def played() -> None:
        engines = Engines(engine_actors(Cluster(), opened, 1))
        await engines.open()
        with pytest.raises(ClusterError, match=r"failed 5 times in a row: these weights are torn"):
            await engines.sync(Written(tmp_path / "refused", 1))
        assert engines.restarted >= 5
        await engines.close()

    with joined(Cluster(), nodes.address):
        asyncio.run(played())


def test_a_model_that_cannot_be_opened(nodes: Nodes) -> None:
    async def played() -> None:
        engines = Engines(engine_actors(Cluster(), unopened, 1))
        with pytest.raises(ModelError, match="no such model"):
            await engines.open()

    with joined(Cluster(), nodes.address):
        asyncio.run(played())


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        (
            Cluster(engines=9, engine_gpus=8),
            r"room for \d of 9 engines of 8 GPUs, each on one node: the largest node has \d",
        ),
        (Cluster(hosts=50, host_cpus=4), r"room for \d+ of 50 hosts of 4 cores, each on one node"),
    ],
)
def test_a_cluster_that_is_too_small(nodes: Nodes, wanted: Cluster, told: str) -> None:
    with pytest.raises(ClusterError, match=told), joined(wanted, nodes.address):
        raise AssertionError("it was joined")


def test_a_ray_of_ones_own_lies_where_no_other_user_can_enter() -> None:
    """Its folders are open to all: another user put a socket in the place of its own, and a link in that of its logs,
    whose target Ray opened to all."""
    with joined(Cluster(), None):
        session = Path(ray._private.worker._global_node.get_session_dir_path())
        assert (session / "sockets").is_dir() and ray.get(ray.remote(lambda: 5).remote()) == 5
        closed = [place for place in session.parents if place.stat().st_mode & 0o077 == 0]
        assert closed and closed[0].stat().st_uid == os.geteuid()
    assert not closed[0].exists()


def test_a_cluster_that_is_not_there() -> None:
    began = time.monotonic()
    told = r"no Ray cluster can be used at 127\.0\.0\.1:1"
    with pytest.raises(ClusterError, match=told), joined(Cluster(), "127.0.0.1:1"):
        raise AssertionError("it was joined")
    assert time.monotonic() - began < 60
    assert not ray.is_initialized()


def test_no_actor_imports_from_where_its_driver_stands(
    nodes: Nodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A checkout with a `zstandard.py` of its own ran on every node. Relative paths are still the driver's."""
    (tmp_path / "zstandard.py").write_text("raise SystemExit('it ran')")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)

    async def place() -> TokenSide:
        import sys

        raise ModelError(f"{Path('here').is_dir()} {[one for one in sys.path if one in ('', '.', str(tmp_path))]}")

    async def opening() -> None:
        engines = Engines(engine_actors(WANTED, place, 1))
        with pytest.raises(ModelError, match=r"True \[\]"):
            await engines.open()
        await engines.close()

    with joined(Cluster(engines=1), nodes.address):
        asyncio.run(opening())
    assert Path.cwd() == tmp_path
