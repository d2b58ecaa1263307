"""`selfplay train` on several repositories: two shops, a repository in which no bug is ever made, and one without
tests. A tiny model plays; its injector always plants the bug of the shops, its solver mends every other one."""

import json
from collections.abc import Iterator
from itertools import cycle, repeat
from pathlib import Path
from typing import Any

import pytest
import tiny_repository
from coached import coached_player
from recorded import messages
from watching import Watcher

from selfplay.commands.training.request import TrainOrder
from selfplay.commands.training.run import run_training
from selfplay.curriculum.open_pool import read_pool
from selfplay.loop.config import TrainConfig
from selfplay.loop.errors import TrainingError
from selfplay.loop.ledger import open_ledger
from selfplay.loop.schedule import drawn
from selfplay.rollout import players
from selfplay.sandbox import Backend

PLANTED, MENDED = messages("shop_injector.txt"), messages("shop_solver.txt")
STEPS, SEED = 5, 0
DRY = {
    "calm.py": "def one():\n    return 1\n",
    "test_calm.py": "import calm\n\n\n" + "".join(f"def test_{n}():\n    assert calm.one()\n\n\n" for n in range(6)),
}
"""Suite and all, but without the file that the injector changes."""


@pytest.fixture(scope="module")
def places(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("repositories")
    other = {**tiny_repository.FILES, "README.md": "another shop\n"}
    made = {"other": (other, tiny_repository.PAST), "dry": (DRY, ()), "broken": ({"a.py": "x = 1\n"}, ())}
    found = {name: str(tiny_repository.make(folder / name, *files)) for name, files in made.items()}
    return {"shop": str(shop), **found}


@pytest.fixture(autouse=True)
def coached(monkeypatch: pytest.MonkeyPatch, tiny: Path) -> None:
    plans = {"plant a realistic bug": repeat(PLANTED), "is broken": cycle([MENDED, None])}
    monkeypatch.setattr(players, "KINDS", {"transformers": lambda model, options: coached_player(tiny, plans)})


def config(sources: list[Any], model: Path, **injector: Any) -> TrainConfig:
    found = {
        "source": sources, "model": str(model), "engine": "transformers", "play": {"context": 4096}, "steps": STEPS,
        "workers": 1, "injector": {"groups": 2, "members": 2, "strategy": "direct", **injector}, "seed": SEED,
        "solver": {"bugs": 1, "attempts": 2}, "recipe": {"lr": 1e-5, "budget": 4096, "precision": "fp32"},
    }  # fmt: skip
    return TrainConfig.model_validate(found)


def steps_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line)["repositories"] for line in (out / "metrics.jsonl").read_text().splitlines()]


def plans_of(out: Path) -> Iterator[list[str]]:
    """The repository of each group of each step."""
    with open_ledger(out) as ledger:
        for step in range(STEPS):
            yield [name for name, number in ledger.begin(step, 0, []).injections if number % 2 == 0]


@pytest.mark.slow
def test_they_are_drawn_by_weight_and_those_that_give_nothing_are_benched(
    places: dict[str, str], tiny: Path, backend: Backend, tmp_path: Path
) -> None:
    """The broken one is benched at once. Each shop gives its one bug in its first group and duplicates of it later;
    the dry one gives none: whose last two groups gave nothing is not drawn for two steps. Stopped in the middle and
    begun again, the run draws the same."""
    shop, other, dry, broken = (places[name] for name in ("shop", "other", "dry", "broken"))
    sources = [{"source": shop, "weight": 2}, other, {"source": dry, "weight": 3}, broken]
    out = tmp_path / "run"
    order = TrainOrder(config(sources, tiny, bench_after=2, bench_steps=2), out)

    def strike(line: str) -> None:
        if line.startswith("step 3"):
            raise InterruptedError("here the process was killed")

    with pytest.raises(InterruptedError):
        run_training(order, backend, Watcher(strike))
    watcher = Watcher()
    run_training(order, backend, watcher)
    assert any(line.startswith(f"{broken} is benched: ") for line in watcher.lines)
    weights, vain, out_until = {shop: 2.0, other: 1.0, dry: 3.0}, dict[str, list[bool]](), dict[str, int]()
    gave = set[str]()
    for step, (names, told) in enumerate(zip(plans_of(out), steps_of(out), strict=True)):
        for name, groups in vain.items():
            if out_until.get(name, 0) <= step and groups[-2:] == [True, True]:
                out_until[name], vain[name] = step + 2, []
        free = {name: weight for name, weight in weights.items() if out_until.get(name, 0) <= step}
        assert names == drawn(free, 2, SEED, step)
        assert told["groups"] == {name: names.count(name) for name in names}
        assert told["reasons"].keys() == {broken, *(weights.keys() - free.keys())}
        assert told["benched"] == len(told["reasons"])
        for name in names:
            vain.setdefault(name, []).append(name == dry or name in gave)
            gave.add(name)
    assert out_until, "some repository was benched"
    with read_pool(out) as pool:
        assert set(pool.homes().values()) == gave - {dry}
        assert {home: pool.bugs()[0].fail_to_pass for home in pool.homes().values()}
        tried = {pool.homes()[one.bug] for one in pool.attempts.all()}
    assert tried == gave - {dry}, "the bugs of both shops were attempted, each in its own world"


@pytest.mark.slow
def test_when_all_are_benched_the_run_ends_with_the_reasons(
    places: dict[str, str], tiny: Path, backend: Backend, tmp_path: Path
) -> None:
    order = TrainOrder(config([places["dry"], places["broken"]], tiny, bench_after=1), tmp_path / "run")
    with pytest.raises(TrainingError) as error:
        run_training(order, backend, Watcher())
    assert "no repository of the run can be used" in str(error.value)
    assert f"{places['dry']}: its last 2 groups gave no valid bug" in str(error.value)
    assert f"{places['broken']}: " in str(error.value) and "no test" in str(error.value)


@pytest.mark.slow
def test_when_none_can_be_prepared(places: dict[str, str], tiny: Path, backend: Backend, tmp_path: Path) -> None:
    order = TrainOrder(config([places["broken"], f"file://{tmp_path}/nowhere"], tiny), tmp_path / "run")
    with pytest.raises(TrainingError, match="no repository of the run can be used"):
        run_training(order, backend, Watcher())
