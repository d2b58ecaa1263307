"""`selfplay train` end to end with SmolLM2's own weights in engine and trainer, coached in half of its episodes: as
fetched it makes no valid call, and every reward would be the same."""

from pathlib import Path

import pytest
from coached import coached_player
from models.loop.coached_training import PLANS, SILENT, config, steps_of
from safetensors.torch import load_file

from selfplay.commands.training.request import TrainOrder
from selfplay.commands.training.run import run_training
from selfplay.curriculum.open_pool import read_pool
from selfplay.rollout import players
from selfplay.sandbox import Backend


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_both_roles_play_and_learn_under_the_newest_weights(
    shop: Path, smollm2: Path, backend: Backend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two steps with an update each. The second one's episodes are sampled by the weights of the first one's update, on
    which engine and trainer agree."""
    monkeypatch.setattr(players, "KINDS", {"transformers": lambda model, options: coached_player(smollm2, PLANS)})
    out, play = tmp_path / "run", {"context": 4096, "calls": 3, "max_tokens": 64}
    weights = run_training(TrainOrder(config(shop, smollm2, play=play), out), backend, SILENT)["weights"]
    first, second = steps_of(out)
    for step in (first, second):
        for role, spent in step["spent"].items():
            assert step["rollouts"][role]["episodes"] == 2 and spent["generation"] > 0
        assert step["step"] is not None, step["nothing"]
        assert step["tokens"]["both"]["absolute_difference"] < 0.02
    assert first["spent"].keys() == {"injector", "solver"}
    with read_pool(out) as pool:
        assert {one.versions for one in pool.attempts.all()} == {(0, 0), (1, 1)}
    assert weights == str(out / "weights" / "000002")
    before, after = (load_file(folder / "model.safetensors") for folder in (smollm2, Path(weights)))
    assert any(not bool((before[name] == after[name]).all()) for name in before.keys() & after.keys())
