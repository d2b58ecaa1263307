"""`selfplay train` end to end with SmolLM2 and vLLM as they are: nobody coaches it, so it makes no valid call. Rewards
differ by the length of an episode, which is enough for an update."""

import json
from pathlib import Path
from typing import Any

import pytest
from models.update.conftest import selfplay
from safetensors.torch import load_file

from selfplay.curriculum.open_pool import read_pool

SETTINGS = (
    "steps=2", "play.calls=2", "play.max_tokens=400", "injector.members=2", "solver.bugs=1", "solver.attempts=2",
    "recipe.length_penalty=0.5", "recipe.length_longest=800",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_both_roles_play_and_learn_under_the_newest_weights(shop: Path, smollm2: Path, tmp_path: Path) -> None:
    """Two steps. The second one's episodes are sampled by the weights of the first one's update, on which engine and
    trainer agree."""
    out = tmp_path / "run"
    begun = selfplay("curriculum", shop, "--out", out, "--bugs", "1", "--strategy", "direct")
    assert begun.returncode == 0, begun.stderr
    done = selfplay("train", "tiny_cpu", f"source={shop}", f"model={smollm2}", *SETTINGS, "--out", out)
    assert done.returncode == 0, done.stderr
    first, second = (json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines())
    for step in (first, second):
        for role in ("injector", "solver"):
            assert step["rollouts"][role]["episodes"] == 2 and step["spent"][role]["generation"] > 0
        assert step["step"] is not None, step["nothing"]
        assert step["tokens"]["both"]["absolute_difference"] < 0.02
    with read_pool(out) as pool:
        versions = {one.versions for one in pool.attempts.all()}
    assert versions == {(0, 0), (1, 1)}
    before, after = (load_file(folder / "model.safetensors") for folder in (smollm2, newest(out)))
    assert any(not bool((before[name] == after[name]).all()) for name in before.keys() & after.keys())


def newest(out: Path) -> Any:
    return max((path for path in (out / "weights").iterdir() if path.name.isdigit()), key=lambda path: int(path.name))
