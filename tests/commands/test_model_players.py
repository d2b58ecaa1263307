"""Language models through the command: recorded episodes of a strong one, both roles, and what a user gets wrong."""

import asyncio
import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from copied_runs import copy_of
from recorded import messages, playing, serving

from selfplay.agent import EpisodeLimits
from selfplay.agent.chat_conversation import ChatConversation
from selfplay.agent.model import Reply, Sampling, Usage
from selfplay.agent.tools import SSR_TOOLS
from selfplay.agent.trajectory_file import load
from selfplay.curriculum import read_pool
from selfplay.errors import SelfplayError
from selfplay.rollout.model_player import ModelPlayer
from selfplay.rollout.players import player_named
from selfplay.rollout.retries import UNANSWERED


class Listens:
    """A text model that has nothing to say and keeps how it was asked."""

    name = "listens"

    def __init__(self) -> None:
        self.asked: list[Sampling] = []

    async def reply(self, messages: Any, sampling: Sampling, tools: Any = ()) -> Reply:
        self.asked.append(sampling)
        return Reply("Hm.", usage=Usage(1))


STAGES = {
    "Find out how its tests are run, and write": messages("shop_staged.txt"),
    "Plant a realistic bug in its code": messages("shop_plant.txt"),
    "Hide the bug": messages("shop_weaken.txt"),
}
STRONG = {
    "plant a realistic bug": messages("sqlparse/injector.txt"),
    "is broken": messages("sqlparse/solver.txt"),
}


@pytest.mark.long
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
    assert lessons.json == {"injector": 1, "solver": 1, "the same was said before": 1}


@pytest.mark.long
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
    assert refused.code == 2 and "the policy scripted adds no features" in refused.err


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("gpt", {}, "there is no policy 'gpt'\n  The policies are: scripted, search, naive, openai:MODEL, vllm:MODEL"),
        ("openai:", {}, "there is no policy 'openai:'"),
        ("scripted", {"episodes": "3"}, "the policy scripted takes no options, not episodes"),
        (
            "openai:m",
            {"heat": "1"},
            "there is no option 'heat'\n  The options are: answer_seconds, api_key_env, base_url,",
        ),
        ("openai:m", {"episodes": "many"}, "the option episodes: a whole number is needed"),
        ("openai:m", {"tools": "magic"}, "the option tools: 'text' or 'native' is needed"),
        ("vllm:x", {"tools": "native"}, "vllm: has no native tool calls"),
        ("transformers:x", {"base_url": "http://x"}, "there is no option 'base_url'"),
    ],
)
def test_a_policy_that_is_none(name: str, options: dict[str, str], said: str) -> None:
    with pytest.raises(SelfplayError) as error:
        player_named(name, options)
    assert str(error.value).startswith(said)


@pytest.mark.slow
def test_a_wrong_key_is_said_before_anything_is_built(selfplay: Any, shop: Path, tmp_path: Path) -> None:
    body = '{"error": {"message": "bad key"}}'
    with serving(lambda request: (401, "application/json", body)) as (url, _):
        done = selfplay("curriculum", shop, "--out", tmp_path / "r", "--policy", "openai:m", "--base-url", url)
    assert done.code == 2 and f"\nselfplay: the endpoint {url}/ refuses the key" in done.err
    assert not (tmp_path / "r" / "original").exists()


def going_down(after: int) -> Any:
    """Answers so many requests with words, then with errors."""
    asked = itertools.count()
    return lambda request: "ready" if next(asked) < after else (500, "application/json", '{"error": "gone"}')


@pytest.mark.slow
def test_an_endpoint_that_goes_down_stops_a_curriculum(selfplay: Any, shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with serving(going_down(2)) as (url, _):  # two for the check, which asks for token ids first
        done = selfplay("curriculum", shop, "--out", out, "--bugs", 20, "--policy", "openai:m", "--base-url", url,
                        "--option", "retries=0", "--option", "episodes=1")  # fmt: skip
    assert done.code == 2 and f"the model failed in {UNANSWERED} episodes in a row: ModelError: the" in done.err
    assert not (out / "trajectories").exists()  # an episode that its model ended says nothing, and is played again
    with read_pool(out) as pool:
        assert pool.episodes.finished(str(shop)) == set() and pool.episodes.fruitless(str(shop)) == 0
    assert json.loads((out / "summary.json").read_text())["figures"]["bugs"] == 0


@pytest.mark.long
def test_an_endpoint_that_goes_down_costs_no_attempt(selfplay: Any, calibrated: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    copy_of(calibrated, run)
    how = ["--policy", "openai:m", "--option", "retries=0", "--json"]
    with serving(going_down(2)) as (url, _):
        done = selfplay("solve", run, "--attempts", 4, "--base-url", url, *how)
    assert done.code == 2 and f"the model failed in {UNANSWERED} episodes in a row: ModelError: the" in done.err
    with read_pool(run) as pool:
        assert pool.attempts.finished("openai:m") == set()
    with serving(going_down(1000)) as (url, _):
        again = selfplay("solve", run, "--attempts", 1, "--base-url", url, *how)
        colder = ["--attempts", 1, "--base-url", url, "--option", "temperature=0.5", *how]
        refused = selfplay("solve", run, *colder)
        named = selfplay("solve", run, "--name", "colder", *colder)
        planting = selfplay("solve", run, "--attempts", 1, "--base-url", url, "--option", "staged=true", *how)
        another = selfplay("solve", run, "--name", "colder", "--attempts", 1, "--policy", "scripted")
        control = selfplay("solve", run, "--name", "gold", *colder)
    assert again.code == 0, again.err
    assert again.json["solving"]["openai:m"]["reasons"] == {"nothing-handed-in": 4}  # one of each bug
    assert "nothing was submitted (no call)" in again.err
    assert refused.code == 2 and "was made with openai:m: temperature = 1.0, not 0.5" in refused.err
    assert "Use the same policy and options; `selfplay solve --name NAME`" in refused.err
    assert planting.code == 0, planting.err  # says how bugs are planted, and no bug is
    assert another.code == 2 and "was made with colder: policy = 'openai:m', not 'scripted'" in another.err
    assert named.code == 0 and set(named.json["solving"]) == {"openai:m", "colder"}
    assert control.code == 2 and "gold is the name of a control" in control.err


def test_messages_are_drawn_by_the_seed_of_the_run_the_attempt_and_the_turn() -> None:
    """In process; an endpoint is sent a seed only where it is asked for."""

    def drawn(seed: int, number: int, options: dict[str, str], kind: str = "transformers") -> list[int | None]:
        player = player_named(f"{kind}:nowhere", options)
        assert isinstance(player, ModelPlayer)
        model, style = Listens(), player.options.style(f"{seed}:{number}")
        conversation = ChatConversation(model, "m", "solver", (), style, toolset=SSR_TOOLS)
        for _ in range(3):
            asyncio.run(conversation.act(None))
        return [sampling.seed for sampling in model.asked]

    first = drawn(0, 0, {})
    assert first == drawn(0, 0, {}) and None not in first
    assert len({*first, *drawn(0, 1, {}), *drawn(1, 0, {})}) == 9
    assert drawn(0, 0, {"seeded": "false"}) == drawn(0, 0, {}, "openai") == [None] * 3
    assert drawn(0, 0, {"seeded": "true"}, "openai") == first


@pytest.mark.slow
def test_an_option_that_is_no_pair(selfplay: Any, shop: Path, tmp_path: Path) -> None:
    done = selfplay("curriculum", shop, "--out", tmp_path / "r", "--policy", "openai:m", "--option", "fast")
    assert done.code == 2 and "'fast' is not NAME=VALUE" in done.err


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "said"), [("openai", "Install it: pip install 'selfplay-swe[openai]'"), ("vllm", "")])
def test_a_policy_without_the_openai_client(kind: str, said: str) -> None:
    """Only endpoints need it; whoever asks for one is told how to get it."""
    code = f"""
import sys
sys.modules["openai"] = None  # as if it were not installed
from selfplay.rollout.players import player_named
try:
    player_named("{kind}:m")
except Exception as error:
    print(type(error).__name__, error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr
    assert done.stdout.startswith("ModelError") == bool(said) and said in done.stdout


def test_options_reach_what_they_are_for() -> None:
    player = player_named("openai:m", {"seconds": "60", "answer_seconds": "5", "calls": "3"})
    assert player.limits == EpisodeLimits(calls=3, seconds=60)


@pytest.mark.slow
def test_an_engine_that_is_not_installed_says_how_to_get_it(selfplay: Any, shop: Path, tmp_path: Path) -> None:
    done = selfplay("curriculum", shop, "--out", tmp_path / "r", "--policy", f"transformers:{tmp_path}")
    assert done.code == 2 and "Install it: pip install 'selfplay-swe[transformers]'" in done.err
