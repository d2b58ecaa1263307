"""`selfplay train` of several repositories on Ray: the run that one process makes, each bug in its own world."""

from pathlib import Path
from typing import Any

import pytest
import tiny_repository
from coached import coached_by_seed
from recorded import messages
from watching import Watcher
from weights_apart import apart

from selfplay.commands.training.request import TrainOrder
from selfplay.commands.training.run import run_training
from selfplay.curriculum.open_pool import read_pool
from selfplay.loop.config import TrainConfig
from selfplay.rollout import players
from selfplay.sandbox import Backend

LINES = {"plant a realistic bug": messages("shop_injector.txt"), "is broken": messages("shop_solver.txt")}
SAME = 0.01
"""How far apart the same weights are at most, as a share of how far they moved (see test_train_on_ray.py)."""


def config(sources: list[Any], model: Path, **more: Any) -> TrainConfig:
    found = {
        "source": sources, "model": str(model), "engine": "transformers", "play": {"context": 4096}, "steps": 2,
        "workers": 1, "injector": {"groups": 2, "members": 2, "strategy": "direct"},
        "solver": {"bugs": 2, "attempts": 2}, "recipe": {"lr": 1e-5, "budget": 4096, "precision": "fp32"},
    }  # fmt: skip
    return TrainConfig.model_validate(found | more)


def what_came(out: Path) -> dict[str, Any]:
    """What both roles did in each repository, and which version of the weights did it."""
    with read_pool(out) as pool:
        homes = pool.homes()
        return {
            "episodes": sorted(
                (one.repository, one.number, one.status, one.versions) for one in pool.episodes.records()
            ),
            "attempts": sorted(
                (homes[one.bug], one.bug, one.number, one.resolved, one.versions) for one in pool.attempts.all()
            ),
        }


@pytest.mark.slow
def test_two_repositories_on_two_hosts_are_the_run_of_one_process(
    shop: Path, tiny: Path, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both give bugs; a third, without tests, is benched with its reason by both runs."""
    monkeypatch.setattr(players, "KINDS", {"transformers": lambda model, options: coached_by_seed(tiny, LINES)})
    files = {**tiny_repository.FILES, "README.md": "another shop\n"}
    other = tiny_repository.make(tmp_path / "other", files, tiny_repository.PAST)
    broken = tiny_repository.make(tmp_path / "broken", {"a.py": "x = 1\n"}, ())
    sources = [str(shop), str(other), str(broken)]
    cluster = {"cluster": {"engines": 1, "hosts": 2, "host_cpus": 1, "host_episodes": 2}}
    watchers = {"one": Watcher(), "ray": Watcher()}
    run_training(TrainOrder(config(sources, tiny), tmp_path / "one"), backend, watchers["one"])
    run_training(TrainOrder(config(sources, tiny, **cluster), tmp_path / "ray"), backend, watchers["ray"])
    found = what_came(tmp_path / "ray")
    assert found == what_came(tmp_path / "one")
    assert {home for home, *_ in found["attempts"]} == {str(shop), str(other)}, "the bugs of both were attempted"
    assert apart(tmp_path / "ray", tmp_path / "one", tiny) < SAME
    for watcher in watchers.values():
        assert any(line.startswith(f"{broken} is benched: ") for line in watcher.lines)
