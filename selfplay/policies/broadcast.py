"""Weights from the trainer to engines over the network, tensor by tensor, in a process group of their own.

Rank 0 is the trainer's first rank and sends; every process of an engine receives. The group is made of torch's own
parts: NCCL if both ends have GPUs, else gloo. vLLM has its own transfer for NCCL; this one also runs on CPU, so tests
on CPU cover the code that runs on a cluster, apart from the backend. NCCL cannot connect a trainer and an engine on one
GPU: there, weights go by file.
"""

import socket
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from selfplay.policies.rendezvous import Fact, Rendezvous

SECONDS = 300
"""Seconds for which a member waits for the others."""


class WeightGroup:
    """One member's side of a group. All members create theirs at the same time."""

    def __init__(self, meeting: Rendezvous, rank: int, device: Any) -> None:
        """Join the group. Raises `RuntimeError` if a member does not join in time."""
        self.meeting, self._rank = meeting, rank
        self._device = torch.device(device) if meeting.backend == "nccl" else torch.device("cpu")
        limit = timedelta(seconds=SECONDS)
        store = dist.TCPStore(
            meeting.host, meeting.port, meeting.ranks, is_master=rank == 0, timeout=limit, wait_for_workers=False
        )
        self._store = dist.PrefixStore(meeting.name, store)
        self._group = _nccl(self._store, rank, meeting, limit) if meeting.backend == "nccl" else _gloo(
            self._store, rank, meeting, limit
        )  # fmt: skip

    def send(self, tensor: Tensor) -> None:
        """Send one tensor to all others, which receive in the same order."""
        self._broadcast(tensor.detach().to(self._device).contiguous())

    def received(self, facts: Sequence[Fact]) -> Iterator[tuple[str, Tensor]]:
        """The tensors of `facts`, each as it arrives."""
        for name, dtype, shape in facts:
            tensor = torch.empty(tuple(shape), dtype=getattr(torch, dtype), device=self._device)
            self._broadcast(tensor)
            yield name, tensor

    def _broadcast(self, tensor: Tensor) -> None:
        options = dist.BroadcastOptions()
        options.rootRank, options.rootTensor = 0, 0
        self._group.broadcast([tensor], options).wait()


def joined(known: WeightGroup | None, meeting: Rendezvous, rank: int, device: Any) -> WeightGroup:
    """The group of this meeting: `known` if it fits, else a new one. Raises `RuntimeError` if a member does not
    join."""
    return known if known is not None and known.meeting == meeting else WeightGroup(meeting, rank, device)


def _gloo(store: Any, rank: int, meeting: Rendezvous, limit: timedelta) -> Any:
    options = dist.ProcessGroupGloo._Options()
    options._devices = [dist.ProcessGroupGloo.create_device(hostname=_own_address(meeting))]
    options._timeout = limit
    return dist.ProcessGroupGloo(store, rank, meeting.ranks, options)


def _nccl(store: Any, rank: int, meeting: Rendezvous, limit: timedelta) -> Any:
    options = dist.ProcessGroupNCCL.Options()
    options._timeout = limit
    return dist.ProcessGroupNCCL(store, rank, meeting.ranks, options)


def _own_address(meeting: Rendezvous) -> str:
    """This machine's address on the network in which the group meets."""
    with socket.create_connection((meeting.host, meeting.port), timeout=SECONDS) as found:
        return str(found.getsockname()[0])
