"""Language models through the command: recorded episodes of a strong one, both roles, and what a user gets wrong."""

from pathlib import Path
from typing import Any

import pytest
from recorded import messages, playing, serving

from selfplay.agent.trajectory import load
from selfplay.errors import SelfplayError
from selfplay.rollout.players import player_named

STAGES = {
    "Find out how its tests are run, and write": messages("shop_staged.txt"),
    "Plant a realistic bug in its code": messages("shop_plant.txt"),
    "Hide the bug": messages("shop_weaken.txt"),
}
STRONG = {
    "plant a realistic bug": messages("sqlparse/injector.txt"),
    "is broken": messages("sqlparse/solver.txt"),
}


@pytest.mark.slow
def test_a_strong_model_on_a_real_repository_plants_a_valid_bug_and_repairs_it(selfplay: Any, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with serving(playing(STRONG)) as (url, server):
        asked = ["--policy", "openai:strong", "--base-url", url, "--option", "price_out=2", "--json"]
        made = selfplay("curriculum", "pypi:sqlparse==0.5.3", "--releases", 0, "--out", out, "--bugs", 1,
                        "--strategy", "removal", *asked)  # fmt: skip
        assert made.code == 0, made.err
        solved = selfplay("solve", out, "--attempts", 2, *asked)
    assert solved.code == 0, solved.err
    figures = made.json["figures"]
    assert (figures["bugs"], figures["valid_share"], figures["finishes"]) == (1, 1.0, {"submitted": 1})
    (bug,) = made.json["bugs"]
    assert bug["files"] == ["sqlparse/filters/others.py"] and bug["fail_to_pass"] == 1 and bug["pass_to_pass"] == 460
    # the recorded episode has 12 messages; usage says how many tokens they had, at 2 a million
    assert figures["usage"]["requests"] == 12
    assert figures["usage"]["cost"] == pytest.approx(figures["usage"]["completion_tokens"] * 2 / 1e6)
    assert solved.json["solving"]["openai:strong"]["reasons"] == {"resolved": 2}
    told = server.requests[1]["messages"]
    assert "Remove code." in told[1]["content"] and "begin your search at `sqlparse/" in told[1]["content"]
    shown = selfplay("show", out / "trajectories" / "000000-injector.jsonl.zst")
    assert shown.code == 0 and "injector by openai:strong: submitted" in shown.out
    assert "The comment filter keeps optimizer hints" in shown.out and "what it was told" in shown.out
    lessons = selfplay("trajectories", "export", out, "--out", tmp_path / "l.jsonl", "--json")
    assert lessons.json == {"injector": 1, "solver": 2}


def test_a_staged_injector_finishes(selfplay: Any, shop: Path, tmp_path: Path) -> None:
    """The harness takes the diffs; a stage that is not done is told why and goes on."""
    out = tmp_path / "run"
    with serving(playing(STAGES)) as (url, _):
        made = selfplay("curriculum", shop, "--out", out, "--bugs", 1, "--strategy", "direct", "--policy", "openai:m",
                        "--base-url", url, "--option", "staged=true", "--json")  # fmt: skip
    assert made.code == 0, made.err
    (bug,) = made.json["bugs"]
    assert bug["files"] == ["tinyshop/prices.py"] and bug["fail_to_pass"] == 1
    trajectory = load(out / "trajectories" / "000000-injector.jsonl.zst")
    assert trajectory.policy == "openai:m (staged)" and len(trajectory.record.conversations) == 3
    early = next(
        m for m in trajectory.record.conversations[1] if m.role == "user" and "nothing is changed" in m.content
    )
    assert "nothing is changed in the code" in early.content
    weaken = trajectory.record.conversations[2][1].content
    assert "tests/test_prices.py::test_shown\n" in weaken and '-    sign = "-"' in weaken


def test_a_script_adds_no_features(selfplay: Any, shop: Path, tmp_path: Path) -> None:
    refused = selfplay("curriculum", shop, "--out", tmp_path / "r", "--strategy", "feature")
    assert refused.code == 2 and "the scripted injector adds no features" in refused.err


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("gpt", {}, "there is no policy 'gpt'\n  The policies are: scripted, search, naive, openai:MODEL, vllm:MODEL"),
        ("openai:", {}, "there is no policy 'openai:'"),
        ("scripted", {"episodes": "3"}, "the policy scripted takes no options, not episodes"),
        ("openai:m", {"heat": "1"}, "there is no option 'heat'\n  The options are: api_key_env, base_url, calls,"),
        ("openai:m", {"episodes": "many"}, "the option episodes: Input should be a valid integer"),
        ("openai:m", {"tools": "magic"}, "the option tools: Input should be 'text' or 'native'"),
        ("vllm:x", {"tools": "native"}, "vllm: has no tool calls of its own"),
        ("transformers:x", {"base_url": "http://x"}, "there is no option 'base_url'"),
    ],
)
def test_a_policy_that_is_none(name: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(SelfplayError) as error:
        player_named(name, options)
    assert str(error.value).startswith(said)


def test_a_wrong_key_is_said_before_anything_is_built(selfplay: Any, shop: Path, tmp_path: Path) -> None:
    body = '{"error": {"message": "bad key"}}'
    with serving(lambda request: (401, "application/json", body)) as (url, _):
        done = selfplay("curriculum", shop, "--out", tmp_path / "r", "--policy", "openai:m", "--base-url", url)
    assert done.code == 2 and done.err.startswith(f"selfplay: the endpoint {url}/ refuses the key")
    assert not (tmp_path / "r" / "original").exists()


def test_an_option_that_is_no_pair(selfplay: Any, shop: Path, tmp_path: Path) -> None:
    done = selfplay("curriculum", shop, "--out", tmp_path / "r", "--policy", "openai:m", "--option", "fast")
    assert done.code == 2 and "'fast' is not NAME=VALUE" in done.err


def test_an_engine_that_is_not_installed_says_how_to_get_it(selfplay: Any, shop: Path, tmp_path: Path) -> None:
    done = selfplay("curriculum", shop, "--out", tmp_path / "r", "--policy", f"transformers:{tmp_path}")
    assert done.code == 2 and "Install it: pip install 'selfplay[transformers]'" in done.err
