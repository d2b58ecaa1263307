"""Training in bf16 where the processor only imitates it is said to be slow."""

from pathlib import Path

import pytest

from selfplay.train.precision import slow_precision


@pytest.mark.parametrize(("flags", "slow"), [
    ("flags\t\t: fpu sse2 avx2 avx512f", True), ("flags\t\t: avx512f avx512_bf16", False),
    ("flags\t\t: amx_bf16 amx_tile", False), ("Features\t: asimd svebf16 bf16", False),
    ("Features\t: asimd svebf16x", True),
])  # fmt: skip
def test_a_processor_without_bf16(flags: str, slow: bool, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor\t: 0\n{flags}\n")
    assert bool(slow_precision("bf16", tmp_path / "cpuinfo")) is slow
    assert slow_precision("fp32", tmp_path / "cpuinfo") == "" == slow_precision("bf16", tmp_path / "none")
