"""A Ray cluster of three nodes on one machine, two of them with a GPU in name only, of which one is lost at a time.

Each node has its own processes; losing one kills all of them (SIGKILL), and the actors that lived there. Another node
comes at once, as where a machine is replaced.
"""

import os
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

HEAD, NODE = {"num_cpus": 1, "include_dashboard": False}, {"num_cpus": 1, "num_gpus": 1}
OPEN = {"RAY_AUTH_MODE": "disabled"}
"""The cluster listens on this machine alone, for the time of the benchmark."""


class Nodes:
    """The cluster. `address`: where a run joins it."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._cluster: Any = Cluster(initialize_head=True, head_node_args=HEAD)
        for _ in range(2):
            self._cluster.add_node(**NODE)

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def lose_one(self, moments: random.Random) -> None:
        """Kill a node that is not the head, and add another one."""
        nodes = sorted(self._cluster.worker_nodes, key=lambda node: str(node.unique_id))
        self._cluster.remove_node(moments.choice(nodes), allow_graceful=False)
        self._cluster.add_node(**NODE)

    def close(self) -> None:
        self._cluster.shutdown()


@contextmanager
def nodes(env: Mapping[str, str]) -> Iterator[Nodes]:
    """The cluster while the context lasts. `env`: of its processes, which are started from this one's."""
    os.environ.pop("RAY_AUTH_TOKEN", None)
    os.environ.update({**env, **OPEN})
    found = Nodes()
    try:
        yield found
    finally:
        found.close()
