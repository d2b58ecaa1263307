"""Models that behave badly: each ends as a labelled, stored, scoreable episode."""

import asyncio
import base64
import json
import struct
import time
from pathlib import Path
from typing import Any

import pytest
import zstandard
from saying import OPENING, SUBMIT, Says, bash, play

from selfplay.agent import EpisodeLimits, Finish, Trajectory, play_episode
from selfplay.agent.chat_conversation import ChatConversation
from selfplay.agent.conversation import GARBLED, SILENT
from selfplay.agent.episode import LOOP
from selfplay.agent.model import ContextFull, ModelError, Reply, Sample, Usage
from selfplay.agent.tools import SSR_TOOLS
from selfplay.agent.trajectory import MALFORMED
from selfplay.agent.trajectory_file import load, save
from selfplay.sandbox import Sandbox
from selfplay.sandbox.workers import Workers


def test_a_whole_episode(sandbox: Sandbox, tmp_path: Path) -> None:
    model = Says([bash("echo hi > f; cat f"), SUBMIT, "All done."])
    trajectory = play(sandbox, model)
    assert (trajectory.finish, trajectory.submission, trajectory.last_words) == (
        Finish.SUBMITTED, "/testbed/.", "All done.",
    )  # fmt: skip
    assert trajectory.steps[0].output == "hi\n" and trajectory.steps[0].call.said.startswith("I try this.")
    assert model.heard[1][-1].content.startswith("<result>\nhi\n</result>\n[127 calls and 1800 s left]")
    assert trajectory.record.usage == Usage(3, 0, 30, 0, 6)
    assert [m.role for m in trajectory.record.conversations[0]] == ["system", "user", *["assistant", "user"] * 2,
                                                                    "assistant"]  # fmt: skip
    save(trajectory, tmp_path / "t.jsonl.zst")
    assert load(tmp_path / "t.jsonl.zst") == trajectory


def test_what_is_stored_needs_nothing_of_ours_to_read(sandbox: Sandbox, tmp_path: Path) -> None:
    sample = Sample((7, 8, 9), (-0.5, -0.25, 0.0), False, (1, 2), (3, 4))
    trajectory = play(sandbox, Says([Reply(bash("echo é"), sample=sample), SUBMIT, "Done."]))
    path = tmp_path / "t.jsonl.zst"
    save(trajectory, path)
    with path.open("rb") as file:
        text = zstandard.ZstdDecompressor().stream_reader(file).read().decode()
    head, *lines = (json.loads(line) for line in text.splitlines())
    assert (head["role"], head["finish"], head["last_words"]) == ("solver", "submitted", "Done.")
    assert head["record"]["drift"] == 0 and head["record"]["conversations"][0][1]["content"] == "task"
    assert [(line["call"]["tool"], line["output"]) for line in lines if "call" in line] == [
        ("bash", "é\n"), ("submit", "submitted"),
    ]  # fmt: skip
    (segment,) = (line for line in lines if "ids" in line)
    arrays = {name: base64.b64decode(segment.pop(name)) for name in ("ids", "mask", "logprobs")}
    assert struct.unpack("<5i", arrays["ids"]) == (1, 2, 7, 8, 9)
    assert struct.unpack("<5b", arrays["mask"]) == (0, 0, 1, 1, 1)
    assert struct.unpack("<5f", arrays["logprobs"]) == (0.0, 0.0, -0.5, -0.25, 0.0)
    stretches = [[2, 5, [3, 4], "stop", False]]
    assert segment == {"versions": [3, 4], "role": "solver", "finish": "stop", "stretches": stretches}


def test_the_tape_knows_which_answers_were_malformed_and_how_long_each_took(sandbox: Sandbox) -> None:
    said = ("no call", bash("ls"), "<tool: nothing>\n</tool>", SUBMIT, "Done.")
    prompt: tuple[int, ...] = ()
    replies = []
    for number, text in enumerate(said):
        replies.append(Reply(text, sample=Sample((number,), (-1.0,), False, prompt, (number, number))))
        prompt += (number,)
    record = play(sandbox, Says(replies)).record
    (segment,) = record.segments
    assert [one.malformed for one in segment.stretches] == [True, False, True, False, False]
    assert [one.versions for one in segment.stretches] == [(n, n) for n in range(5)] and segment.versions == (0, 4)
    assert len(record.seconds) == 5 and all(seconds >= 0 for seconds in record.seconds)


def test_one_that_never_calls_a_tool(sandbox: Sandbox) -> None:
    trajectory = play(sandbox, Says(["I would look at the code."]))
    assert trajectory.finish == Finish.NO_CALL and len(trajectory.steps) == SILENT - 1
    assert "holds no call, and nothing has been submitted" in trajectory.steps[0].output
    assert "<tool: bash" in trajectory.steps[0].output
    assert all(step.malformed and step.call.tool == MALFORMED for step in trajectory.steps)


def test_one_that_calls_two_at_once_runs_neither(sandbox: Sandbox) -> None:
    trajectory = play(sandbox, Says([f"{bash('touch a')}\n{bash('touch b')}", bash("ls -A"), SUBMIT, "Done."]))
    assert trajectory.finish == Finish.SUBMITTED
    assert trajectory.steps[0].malformed and "more than one call" in trajectory.steps[0].output
    assert trajectory.steps[1].output == ""


@pytest.mark.parametrize("said", ["<tool: bash>\nls", "<tool: nothing>\n</tool>", "<tool: edit>\na\nb\n</tool>"])
def test_one_that_never_learns_the_format(sandbox: Sandbox, said: str) -> None:
    trajectory = play(sandbox, Says([said]))
    assert trajectory.finish == Finish.MALFORMED and len(trajectory.steps) == GARBLED - 1
    conversation = trajectory.record.conversations[0]
    assert [m.malformed for m in conversation if m.role == "assistant"] == [True] * GARBLED


@pytest.mark.slow
def test_one_that_prints_noise_without_end(sandbox: Sandbox, tmp_path: Path) -> None:
    noise = "lorem ipsum <tool: " * 40_000
    started = time.monotonic()
    trajectory = play(sandbox, Says([Reply(noise, length=True)]))
    assert trajectory.finish == Finish.MALFORMED and time.monotonic() - started < 10
    assert "cut off at the length limit" in trajectory.steps[0].output
    save(trajectory, tmp_path / "t.jsonl.zst")
    assert (tmp_path / "t.jsonl.zst").stat().st_size < 100_000


def test_a_long_call_is_kept_whole(sandbox: Sandbox) -> None:
    """What is stored of it is imitated later: it must be what was run."""
    long = f"<tool: create>\nx\n{'y' * 99_000}\n</tool>"
    trajectory = play(sandbox, Says([long, SUBMIT, "Done."]))
    assert trajectory.record.conversations[0][2].content == long
    assert sandbox.read_file("/testbed/x") == b"y" * 99_000 + b"\n"


def test_one_that_loops_on_a_command(sandbox: Sandbox) -> None:
    trajectory = play(sandbox, Says([bash("echo again")]))
    assert trajectory.finish == Finish.LOOPED and len(trajectory.steps) == LOOP


def test_one_that_submits_missing_files_and_mends_it(sandbox: Sandbox) -> None:
    submit = "<tool: submit>\n/tmp/a/one.txt\n/tmp/b/two.txt\n</tool>"
    make = bash("mkdir -p /tmp/a /tmp/b; echo 1 > /tmp/a/one.txt; echo 2 > /tmp/b/two.txt")
    said = ["<tool: submit>\n/tmp/a/one.txt\n/tmp/x\n</tool>", submit, make, submit, bash("rm /tmp/a/one.txt"), "Done."]
    trajectory = play(sandbox, Says(said), hand_in=("one.txt", "two.txt"))
    outputs = [step.output for step in trajectory.steps]
    assert outputs[0] == (
        "submit: two.txt not among the paths; hand in one.txt, two.txt, one path a line"
    )  # fmt: skip
    assert outputs[1] == "submit: /tmp/a/one.txt, /tmp/b/two.txt does not exist or is empty; nothing was submitted"
    assert trajectory.finish == Finish.SUBMITTED and trajectory.submission
    # what was submitted is what stood there then
    assert sandbox.read_file(f"{trajectory.submission}/one.txt") == b"1\n"
    assert sandbox.read_file(f"{trajectory.submission}/two.txt") == b"2\n"


def test_a_missing_file_is_no_submission(sandbox: Sandbox) -> None:
    model = Says(["<tool: submit>\n/tmp/a\n</tool>", "Done."])
    trajectory = play(sandbox, model, hand_in=("one.txt",))
    assert trajectory.finish == Finish.NO_CALL and trajectory.submission is None


def test_a_conversation_that_no_longer_fits(sandbox: Sandbox) -> None:
    trajectory = play(sandbox, Says([bash("ls"), ContextFull("full")]))
    assert trajectory.finish == Finish.OUT_OF_CONTEXT and len(trajectory.steps) == 1 and not trajectory.error


def test_a_model_that_fails_ends_its_episode(sandbox: Sandbox) -> None:
    trajectory = play(sandbox, Says([bash("ls"), ModelError("no answer")]))
    assert (trajectory.finish, trajectory.error) == (Finish.POLICY_ERROR, "ModelError: no answer")
    assert trajectory.outage


def test_bytes_that_are_no_text(sandbox: Sandbox) -> None:
    model = Says([bash("printf '\\377\\376ok'"), bash("echo '\ufffd\ufffd'"), SUBMIT, "Done."])
    trajectory = play(sandbox, model)
    assert trajectory.finish == Finish.SUBMITTED and trajectory.steps[0].output == "\udcff\udcfeok"


def test_a_model_that_hangs_is_out_of_time(sandbox: Sandbox) -> None:
    class Hangs(Says):
        async def reply(self, *args: Any, **kwargs: Any) -> Reply:
            await asyncio.sleep(60)
            raise AssertionError

    started = time.monotonic()
    trajectory = play(sandbox, Hangs([]), limits=EpisodeLimits(seconds=0.5))
    assert trajectory.finish == Finish.OUT_OF_TIME and time.monotonic() - started < 10


def test_many_episodes_overlap_their_tools_and_their_model(sandbox: Sandbox) -> None:
    """60 episodes of 4 turns, each model answer 50 ms: one after the other 12 s and more."""

    class Slow(Says):
        async def reply(self, *args: Any, **kwargs: Any) -> Reply:
            await asyncio.sleep(0.05)
            return await super().reply(*args, **kwargs)

    def conversation() -> ChatConversation:
        model = Slow([bash("true"), bash("echo 1"), SUBMIT, "Done."])
        return ChatConversation(model, "slow", "solver", OPENING, toolset=SSR_TOOLS)

    async def run() -> list[Trajectory]:
        with Workers(4) as workers:
            episodes = [
                play_episode(conversation(), sandbox, "solver", toolset=SSR_TOOLS, workers=workers) for _ in range(60)
            ]
            return await asyncio.gather(*episodes)

    started = time.monotonic()
    trajectories = asyncio.run(run())
    assert time.monotonic() - started < 6
    assert [t.finish for t in trajectories] == [Finish.SUBMITTED] * 60
