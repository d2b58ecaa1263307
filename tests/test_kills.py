"""Whole runs while things are killed at random moments: the same pool and the same attempts, byte for byte.

The small version of `benchmarks/bench_kills.py`, whose figures are for a hundred kills of every kind."""

from pathlib import Path

import pytest
from run_fixtures import Command, selfplay, shop, together

from benchmarks import bench_kills
from benchmarks.bench_kills import Bench

__all__ = ["selfplay", "shop", "together"]


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_kills_change_nothing(selfplay: Command, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One kill to a run, so that both commands are struck."""
    monkeypatch.setattr(bench_kills, "EACH", 1)
    tmp_path.chmod(0o755)
    bench = Bench(tmp_path, str(shop), seed=7, cache=selfplay.cache, bugs=2, attempts=1)
    bench.prepare()
    for kind in ("mixed", "launcher", "process KILL"):
        found = bench.kind(kind, 2)
        assert found.kills == 2 and found.by_command.keys() == {"curriculum", "solve"}, (kind, found)
        assert found.same == found.runs, (kind, found)
