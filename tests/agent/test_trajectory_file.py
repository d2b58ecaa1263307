"""A trajectory's figures, what an outage is, and files of other versions."""

import json
import random
import time
from array import array
from pathlib import Path

import pytest

from selfplay.agent import Call, EpisodeFigures, EpisodeLimits, Finish, Record, Step, Trajectory, native_calls
from selfplay.agent.model import Message, NativeCall, Sampling, Usage
from selfplay.agent.tape import SampledSpan, Segment
from selfplay.agent.tools import SSR_TOOLS
from selfplay.agent.toolset import OBSERVATION_CHARS
from selfplay.agent.trajectory_file import FORMAT, TrajectoryError, load, save

BEFORE_FORMATS = """\
{"role": "solver", "policy": "openai:m", "finish": "submitted", "submission": "/testbed/.", "seconds": 12.5, \
"error": "", "last_words": "Done.", "record": {"conversations": [[{"role": "user", "content": "task", "calls": [], \
"answers": "", "malformed": false}, {"role": "assistant", "content": "", "calls": [{"id": "1", "name": "submit", \
"arguments": "{}"}], "answers": "", "malformed": false}]], "drift": 3, "usage": {"requests": 2, "retries": 1, \
"prompt_tokens": 10, "cached_tokens": 4, "completion_tokens": 5, "cost": 0.5}, "thoughts": ["Hm.", ""]}}
{"call": {"tool": "submit", "arguments": {"folder": "."}, "said": ""}, "output": "submitted", "exit_code": 0, \
"seconds": 0.25, "malformed": false, "left": {"calls": 127, "seconds": 1790.5}}
{"ids": [1, 2, 7], "mask": [0, 0, 1], "logprobs": [0.0, 0.0, -0.5], "versions": [3, 4], "role": "solver", \
"finish": "stop"}
"""
"""Written by the version before files had a format number."""


def test_a_file_of_an_earlier_version_loads(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    path.write_text(BEFORE_FORMATS)
    old = load(path)
    assert (old.role, old.finish, old.submission, old.record.drift) == ("solver", Finish.SUBMITTED, "/testbed/.", 3)
    assert old.steps[0].left and old.steps[0].left.calls == 127
    assert old.record.conversations[0][1].calls[0].name == "submit"
    assert old.record.segments[0].versions == (3, 4) and old.record.segments[0].ids.tolist() == [1, 2, 7]
    assert old.figures == EpisodeFigures(12.5, 1, Finish.SUBMITTED, 0, 3, Usage(2, 1, 10, 4, 5, 0.5))
    save(old, tmp_path / "new.jsonl")
    head = json.loads((tmp_path / "new.jsonl").read_text().splitlines()[0])
    assert head["format"] == FORMAT and load(tmp_path / "new.jsonl") == old


def test_how_it_was_sampled_is_kept_and_read_by_type(tmp_path: Path) -> None:
    told = Trajectory("solver", "m", Finish.SUBMITTED, record=Record(sampling=Sampling(0.7, 0.9, 320, 5)))
    save(told, tmp_path / "a.jsonl")
    assert load(tmp_path / "a.jsonl") == told
    head = json.loads((tmp_path / "a.jsonl").read_text())
    head["record"]["sampling"]["temperature"] = "hot"
    (tmp_path / "b.jsonl").write_text(json.dumps(head))
    with pytest.raises(TrajectoryError, match="is not a trajectory"):
        load(tmp_path / "b.jsonl")


def test_fields_that_only_a_later_version_knows_are_left_out(tmp_path: Path) -> None:
    head, step, segment = (json.loads(line) for line in BEFORE_FORMATS.splitlines())
    head["record"]["conversations"][0][0]["mood"] = "good"
    lines = ({**head, "format": FORMAT, "group": 7}, {**step, "mood": 1}, {**segment, "mood": 2})
    (tmp_path / "new.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "old.jsonl").write_text(BEFORE_FORMATS)
    assert load(tmp_path / "new.jsonl") == load(tmp_path / "old.jsonl")


@pytest.mark.parametrize("format", [FORMAT + 1, "three"])
def test_a_format_that_is_not_known_is_refused(tmp_path: Path, format: object) -> None:
    head, *lines = BEFORE_FORMATS.splitlines()
    path = tmp_path / "later.jsonl"
    path.write_text("\n".join([json.dumps({**json.loads(head), "format": format}), *lines]))
    with pytest.raises(TrajectoryError, match=r"later\.jsonl (was written by a later version|is not a trajectory)"):
        load(path)


def test_the_figures_count_calls_and_malformed_ones() -> None:
    steps = tuple(Step(Call("bash"), "", 0, 1.0, malformed) for malformed in (True, False, True))
    trajectory = Trajectory("injector", "p", Finish.LOOPED, steps, seconds=9.0, record=Record(drift=2, usage=Usage(5)))
    assert trajectory.figures == EpisodeFigures(9.0, 3, Finish.LOOPED, 2, 2, Usage(5))


TOLD = Record(conversations=((Message("user", "task"),),))


@pytest.mark.parametrize(
    ("finish", "record", "outage"),
    [
        (Finish.POLICY_ERROR, TOLD, True),
        (Finish.POLICY_ERROR, Record(), False),  # a script that failed
        (Finish.OUT_OF_CONTEXT, TOLD, False),
        (Finish.SANDBOX_LOST, TOLD, False),
    ],
)
def test_only_a_model_that_fails_has_an_outage(finish: Finish, record: Record, outage: bool) -> None:
    assert Trajectory("injector", "p", finish, record=record).outage is outage


def _written(rng: random.Random, depth: int = 0) -> str:
    """JSON, and almost JSON, as a model may write it."""
    plain = (
        "1",
        "-0.5",
        "1e999",
        "9" * 400,
        "NaN",
        "true",
        "null",
        '""',
        '"\\ud83d"',
        '"\\ud83d\\ude00"',
        '"\\u0000"',
        '"é"',
    )
    kind = rng.randrange(6) if depth < 4 else 0
    if kind < 3:
        return rng.choice(plain)
    if kind == 3:
        levels = rng.choice((1, 3, 30, 62, 63, 64, 65, 500))
        return "[" * levels + rng.choice(plain) + "]" * levels
    inner = [_written(rng, depth + 1) for _ in range(rng.choice((0, 1, 3, 400)) if depth == 0 else 2)]
    if kind == 4:
        return "[" + ",".join(inner) + "]"
    return "{" + ",".join(f'"k{number % 399}": {one}' for number, one in enumerate(inner)) + "}"


def test_every_call_of_a_model_that_is_taken_can_be_stored_and_read_again(tmp_path: Path) -> None:
    rng, taken, path = random.Random(5), 0, tmp_path / "one.jsonl.zst"
    for _ in range(1500):
        written = '{"command": "ls", "x": ' + _written(rng) + "}"
        call = native_calls.read([NativeCall("1", "bash", written)], "", SSR_TOOLS)
        if isinstance(call, Call):
            taken += 1
            save(Trajectory("solver", "p", Finish.SUBMITTED, (Step(call, "", 0, 0.0),)), path)
            assert load(path).steps[0].call.arguments == call.arguments
    assert taken > 200


@pytest.mark.parametrize("character", ["\udcff", "😀", ",", '"', "é", "x"])
def test_an_episode_that_prints_as_much_as_it_may_can_be_read(tmp_path: Path, character: str) -> None:
    """Its outputs stand in its steps and in what the model was told; the longest are cut, and all steps are there."""
    output, calls, path = character * OBSERVATION_CHARS, EpisodeLimits().calls, tmp_path / "long.jsonl.zst"
    steps = tuple(Step(Call("bash", {"command": "cat it"}), output, 0, 0.1) for _ in range(calls))
    told = Record(conversations=((Message("user", "task"), *(Message("tool", output) for _ in steps)),))
    save(Trajectory("solver", "p", Finish.SUBMITTED, steps, record=told), path)
    read = load(path)
    assert len(read.steps) == calls and all(0 < len(step.output) <= OBSERVATION_CHARS for step in read.steps)
    assert "characters cut" in read.steps[-1].output and len(read.record.conversations[0]) == calls + 1


def test_an_episode_of_usual_length_is_kept_whole(tmp_path: Path) -> None:
    steps = tuple(Step(Call("bash", {"command": "cat it"}), "é" * 20_000, 0, 0.1) for _ in range(60))
    save(Trajectory("solver", "p", Finish.SUBMITTED, steps), tmp_path / "one.jsonl")
    assert load(tmp_path / "one.jsonl").steps == steps


def test_a_hundred_turns_that_each_begin_a_segment_are_kept(tmp_path: Path) -> None:
    """A template that takes thoughts out of earlier messages gives the engine other ids at each turn."""
    prompt, segments, path = list(range(20_000)), [], tmp_path / "long.jsonl.zst"
    for turn in range(128):
        ids = [*prompt, -turn - 1, *range(60)]
        mask, numbers = array("b", [0] * len(prompt) + [1] * 61), array("d", bytes(8 * len(ids)))
        stretch = SampledSpan(len(prompt), len(ids), (0, 0), "stop")
        segments.append(Segment(array("i", ids), mask, numbers, (0, 0), "solver", "stop", (stretch,)))
        prompt += [*range(100)]  # the answer without its thoughts, and what the tool said
    began = time.process_time()
    save(Trajectory("solver", "p", Finish.SUBMITTED, record=Record(segments=tuple(segments))), path)
    assert time.process_time() - began < 10
    assert load(path).record.segments == tuple(segments)
