"""What is kept of a layer, counted: attention is computed once, the products and the rest twice."""

import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
from tiny_models import tiny_llama, uneven
from torch.utils._python_dispatch import TorchDispatchMode

from selfplay.train.model import ModelOptions, scorer_of
from selfplay.train.rows import row

FP32 = ModelOptions(precision="fp32")
ATTENTION = "aten::_scaled_dot_product_flash_attention_for_cpu"


class Counted(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[tuple[str, int]] = Counter()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        name = func.name().partition(".")[0]
        self.calls[name, args[1].shape[1] if name == "aten::mm" else 0] += 1
        return func(*args, **(kwargs or {}))


def calls(options: ModelOptions) -> Counter[tuple[str, int]]:
    """Of a forward and backward pass of one sequence through two layers."""
    scorer, packed = scorer_of(tiny_llama(), options), row(uneven((20,)))
    with Counted() as counted:
        scorer(packed)[0].sum().backward()
    return counted.calls


@pytest.mark.parametrize(
    ("options", "attention", "gates", "keys"),
    [
        (replace(FP32, checkpointing=False), 2, 8, 4),
        (FP32, 2, 12, 8),
        (replace(FP32, keep_attention=False), 4, 12, 8),
    ],
)
def test_attention_is_computed_once_where_it_is_kept(
    options: ModelOptions, attention: int, gates: int, keys: int
) -> None:
    """Two layers, each with one attention, two products of width 64 forward (gate and up) and two of width 16 (keys and
    values). What is computed again is counted twice. Backward has two more of width 64, the gradients of down's input
    and of its weight, and none of width 16."""
    found = calls(options)
    assert (found[ATTENTION, 0], found["aten::mm", 64], found["aten::mm", 16]) == (attention, gates, keys)


RESIDENT = """
import sys, torch
from concurrent.futures import ThreadPoolExecutor
from selfplay.train.memory import map_large_blocks, return_freed_memory
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096 / 1e6
"""


def grown(program: str, *given: str) -> float:
    """The megabytes that a process of its own prints."""
    argv = [sys.executable, "-c", RESIDENT + program, *given]
    return float(subprocess.run(argv, capture_output=True, text=True, check=True, timeout=200).stdout)


def test_large_blocks_go_back_at_once() -> None:
    """Ten blocks of 10 MB, the last of which is kept after the others are freed. glibc's own limit rose to 30 MB with
    the first block freed, so the ten come from the heap, which the last one holds open."""
    program = """
if sys.argv[1:]:
    assert map_large_blocks()
torch.ones(7_500_000)
before = resident()
kept = [torch.ones(2_500_000) for _ in range(10)][-1]
print(resident() - before)
"""
    assert grown(program) > 90 and grown(program, "mapped") < 20


def test_smaller_blocks_go_back_when_asked() -> None:
    """Thirty blocks of 4 MB in another thread, the last of which is kept: its heap keeps the 120 MB."""
    program = """
assert map_large_blocks()
thread = ThreadPoolExecutor(1)
thread.submit(torch.ones, 1).result()
before = resident()
kept = thread.submit(lambda: [torch.ones(1_000_000) for _ in range(30)][-1]).result()
if sys.argv[1:]:
    return_freed_memory()
print(resident() - before)
"""
    assert grown(program) > 90 and grown(program, "asked") < 20
