"""`trajectories export`: successful episodes as supervised examples."""

import json
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
import zstandard

from selfplay.agent import Budget, Call, Finish, Step, Trajectory
from selfplay.agent.call_format import parse
from selfplay.agent.model import Message, NativeCall
from selfplay.agent.tools import SSR_TOOLS
from selfplay.agent.trajectory import MALFORMED, Record
from selfplay.agent.trajectory_file import save
from selfplay.roles.solver import SOLVER
from selfplay.sft.lessons import CANNOT_SAY, NO_SUCH_TOOL, NoLesson, lessons
from selfplay.sft.successes import Success


@pytest.mark.slow
def test_a_scripts_own_episodes_are_lessons_only_when_asked_for(
    finished: tuple[Path, object], selfplay: Any, tmp_path: Path
) -> None:
    run, _ = finished
    out = tmp_path / "lessons.jsonl.zst"
    plain = selfplay("trajectories", "export", run, "--out", out)
    assert plain.code == 0 and zstandard.decompress(out.read_bytes()) == b"" and plain.out.split("\n")[:2] == [
        f"0 injector examples and 0 solver examples in {out}",
        "left out, a script's own episode (--scripted takes it): 4",
    ]  # fmt: skip
    done = selfplay("trajectories", "export", run, "--out", out, "--role", "injector", "--scripted", "--json")
    assert done.code == 0, done.err
    assert done.json["injector"] == 4  # the bugs of the run, each from an episode of its own
    rows = [json.loads(line) for line in zstandard.decompress(out.read_bytes()).decode().splitlines()]
    assert sorted(row["bug"] for row in rows) == sorted(path.name for path in (run / "bugs").iterdir())
    for row in rows:
        system, task, *rest = row["messages"]
        assert (system["role"], task["role"], row["role"]) == ("system", "user", "injector")
        assert (row["outcome"], row["reward"]) == ("valid", None)  # nobody has attempted it
        assert "plant a realistic bug" in task["content"] and not system["train"] and not task["train"]
        calls = [parse(message["content"], SSR_TOOLS) for message in rest if message["role"] == "assistant"]
        assert all(isinstance(call, Call) for call in calls[:-1]) and calls[-1] is None
        assert calls[-2].tool == "submit"  # type: ignore[union-attr]
        assert [message["role"] for message in rest] == ["assistant", "user"] * (len(rest) // 2) + ["assistant"]


@pytest.mark.long
def test_bugs_are_demonstrated_in_four_short_lessons(
    finished: tuple[Path, object], selfplay: Any, tmp_path: Path
) -> None:
    """Each bug once more through the staged harness, where it hands in what the bug's own files say; and its repair."""
    run, out = tmp_path / "run", tmp_path / "lessons.jsonl"
    shutil.copytree(finished[0], run)
    done = selfplay("trajectories", "demonstrate", run, "--json")
    assert done.code == 0, done.err
    assert set(done.json.values()) == {""} and len(done.json) == 4
    began = time.time_ns()
    again = selfplay("trajectories", "demonstrate", run)
    assert "4 of 4 bugs demonstrated" in again.out
    kept = sorted(path.stat().st_mtime_ns for path in (run / "trajectories").glob("*demonstration*"))
    assert len(kept) == 2 * 4 and kept[-1] < began  # none was played again
    damaged = min((run / "trajectories").glob("*demonstration*"))
    damaged.write_bytes(b"nonsense")
    assert selfplay("trajectories", "demonstrate", run).code == 0 and damaged.read_bytes() != b"nonsense"
    counts = selfplay("trajectories", "export", run, "--out", out, "--role", "injector", "--json").json
    left_out = {"a script's own episode (--scripted takes it)": 4}
    assert counts == {
        **left_out,
        "injector": 9,
        "the same was said before": 3,
    }  # one discovery; a plant and a weaken each
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    for row in rows:
        calls = [parse(message["content"], SSR_TOOLS) for message in row["messages"] if message["role"] == "assistant"]
        assert all(isinstance(call, Call) for call in calls) and calls[-1].tool == "submit"  # type: ignore[union-attr]
        assert sum(len(message["content"]) for message in row["messages"]) < 12_000
    assert selfplay("trajectories", "export", run, "--out", out, "--role", "solver", "--json").json == {"solver": 4}
    for row in (json.loads(line) for line in out.read_text().splitlines()):
        assert (row["outcome"], row["reward"], row["policy"]) == ("resolved", 1.0, "demonstration")
        calls = [parse(message["content"], SSR_TOOLS) for message in row["messages"] if message["role"] == "assistant"]
        done = [_word(call) for call in calls[:-1] if isinstance(call, Call)]
        assert done[0] in ("git grep", "git ls-files") and done[1:3] == ["git apply", "set -o"]
        assert done[-3:] == ["edit", "set -o", "submit"]
        looks = {"git grep", "git ls-files", "grep -A", "grep -n", "sed -n"}
        assert set(done[3:-3]) <= looks | {"edit"} and calls[-1] is None
        for at, message in enumerate(row["messages"]):
            call = parse(message["content"], SSR_TOOLS) if message["role"] == "assistant" else None
            if isinstance(call, Call) and call.tool == "edit":
                assert str(call.arguments["old"]) in row["messages"][at - 1]["content"], "it edits what it has read"
                heard = [one["content"] for one in row["messages"][: at - 2] if one["role"] == "user"]
                assert str(call.arguments["path"]) in "".join(heard), "and a file that it was told of"
        heard = [message["content"] for message in row["messages"][2:] if message["role"] == "user"]
        assert " failed" in heard[2] and " failed" not in heard[-2] and " passed" in heard[-2]
        assert sum(len(message["content"]) for message in row["messages"]) < 12_000


@pytest.mark.long
def test_one_role_alone_is_demonstrated(finished: tuple[Path, object], selfplay: Any, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished[0], run)
    assert "4 of 4 bugs demonstrated" in selfplay("trajectories", "demonstrate", run, "--role", "solver").out
    refused = selfplay("trajectories", "demonstrate", run, "--role", "tester")
    assert refused.code == 2 and "there is no role 'tester'" in refused.err
    names = [path.name for path in (run / "trajectories").glob("*demonstration*")]
    assert len(names) == 4 and all(name.endswith("-solver.jsonl.zst") for name in names)


def _word(call: Call) -> str:
    """The first two words of a command, or the tool."""
    return " ".join(str(call.arguments.get("command", call.tool)).split()[:2])


@pytest.mark.long
def test_a_bug_that_is_another_than_its_files_is_no_lesson(
    finished: tuple[Path, object], selfplay: Any, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished[0], run)
    bug = min((run / "bugs").iterdir())
    shutil.copy(bug / "test_weaken.diff", bug / "bug_inject.diff")
    done = selfplay("trajectories", "demonstrate", run, "--json")
    assert done.code == 0 and "are not those bug.json was written for" in done.json[bug.name]
    nothing = selfplay("trajectories", "demonstrate", tmp_path)
    assert nothing.code == 2 and "has no curriculum" in nothing.err


def success(tmp_path: Path, trajectory: Trajectory) -> Success:
    path = tmp_path / "000001-solver.jsonl.zst"
    save(trajectory, path)
    return Success(path, SOLVER, "the task")


def step(call: Call, output: str = "", malformed: bool = False) -> Step:
    return Step(call, output, int(malformed), 0.1, malformed, Budget(9, 99))


def test_malformed_calls_stay_and_are_not_imitated(tmp_path: Path) -> None:
    conversation = (
        Message("system", "s"), Message("user", "u"), Message("assistant", "<tool: bash>\nls", malformed=True),
        Message("user", "not closed"), Message("assistant", "<tool: bash>\nls\n</tool>"), Message("user", "a"),
        Message("assistant", "garbage", malformed=True),
    )  # fmt: skip
    trajectory = Trajectory("solver", "m", Finish.SUBMITTED, record=Record((conversation,)))
    (lesson,) = lessons(success(tmp_path, trajectory), 1000)
    row = lesson.to_json(None)
    assert [message["train"] for message in row["messages"]] == [False, False, False, False, True]


def test_native_calls_are_said_in_the_textual_format(tmp_path: Path) -> None:
    call, bad = NativeCall("1", "bash", '{"command": "ls"}'), NativeCall("2", "bash", "{")
    conversation = (
        Message("system", "s"), Message("user", "u"), Message("assistant", "I look.", (call,)),
        Message("tool", "a", answers="1"), Message("assistant", "", (bad,)), Message("tool", "no", answers="2"),
        Message("assistant", "Done."),
    )  # fmt: skip
    (lesson,) = lessons(
        success(tmp_path, Trajectory("solver", "m", Finish.SUBMITTED, record=Record((conversation,)))), 1000
    )
    assert [message.role for message in lesson.messages[2:]] == ["assistant", "user", "assistant", "user", "assistant"]
    assert "<tool: bash" in lesson.messages[0].content and "as a function" not in lesson.messages[0].content
    assert lesson.messages[2].content == "I look.\n\n<tool: bash>\nls\n</tool>"
    assert [message.malformed for message in lesson.messages[2:]] == [False, False, True, False, False]


def test_two_native_calls_at_once_are_answered_once(tmp_path: Path) -> None:
    calls = (NativeCall("1", "bash", "{}"), NativeCall("2", "bash", "{}"))
    conversation = (
        Message("system", "s"), Message("user", "u"), Message("assistant", "", calls, malformed=True),
        Message("tool", "one call", answers="1"), Message("tool", "one call", answers="2"), Message("assistant", "Ok."),
    )  # fmt: skip
    (lesson,) = lessons(
        success(tmp_path, Trajectory("solver", "m", Finish.SUBMITTED, record=Record((conversation,)))), 1000
    )
    assert [message.role for message in lesson.messages] == ["system", "user", "assistant", "user", "assistant"]


@pytest.mark.parametrize("finish", [Finish.OUT_OF_CALLS, Finish.LOOPED])
def test_a_call_that_nobody_answered_is_not_imitated(tmp_path: Path, finish: Finish) -> None:
    """A submission made before counts, so the episode may well be a success."""
    conversation = (
        Message("system", "s"), Message("user", "u"), Message("assistant", "<tool: submit>\n</tool>"),
        Message("user", "submitted"), Message("assistant", "<tool: nothing>\n</tool>"),
    )  # fmt: skip
    (lesson,) = lessons(success(tmp_path, Trajectory("solver", "m", finish, record=Record((conversation,)))), 1000)
    assert lesson.messages == conversation[:3]


def test_a_script_that_the_format_cannot_say_gives_no_lesson(tmp_path: Path) -> None:
    steps = (step(Call("create", {"path": "a", "content": "no newline"})),)
    with pytest.raises(NoLesson, match=CANNOT_SAY):
        lessons(success(tmp_path, Trajectory("solver", "s", Finish.SUBMITTED, steps)), 1000)


def test_a_native_call_that_the_format_cannot_say_is_counted(tmp_path: Path) -> None:
    odd = NativeCall("1", "create", '{"path": "a", "content": "no newline"}')
    conversation = (
        Message("system", "s"), Message("user", "u"), Message("assistant", "", (odd,)),
        Message("tool", "wrote a", answers="1"), Message("assistant", "Done."),
    )  # fmt: skip
    trajectory = Trajectory("solver", "m", Finish.SUBMITTED, record=Record((conversation,)))
    (lesson,) = lessons(success(tmp_path, trajectory), 1000)
    assert [message.malformed for message in lesson.messages[2:]] == [True, False, False] and lesson.unsaid == 1


def test_an_episode_with_a_tool_that_its_role_does_not_have_is_named(tmp_path: Path) -> None:
    steps, call = (step(Call("search", {"words": "x"})),), NativeCall("1", "search", '{"words": "x"}')
    native = (Message("system", "s"), Message("assistant", "", (call,)), Message("assistant", "Done."))
    for record in (Record(), Record((native,))):
        with pytest.raises(NoLesson, match=NO_SUCH_TOOL):
            lessons(success(tmp_path, Trajectory("solver", "s", Finish.SUBMITTED, steps, record=record)), 1000)


def test_a_long_output_of_a_script_is_cut(tmp_path: Path) -> None:
    steps = (step(Call("bash", {"command": "cat x"}), "y" * 5000), step(Call(MALFORMED, {}), "", malformed=True))
    with pytest.raises(NoLesson, match=CANNOT_SAY):
        lessons(success(tmp_path, Trajectory("solver", "s", Finish.SUBMITTED, steps)), 200)
    (lesson,) = lessons(success(tmp_path, Trajectory("solver", "s", Finish.SUBMITTED, steps[:1])), 200)
    assert len(lesson.messages[3].content) < 300 and "4800 characters cut" in lesson.messages[3].content


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--role", "teacher", "--out", "x.jsonl"], "there is no role 'teacher'"),
        (["--out", "x.csv"], "x.csv is not named .jsonl or .jsonl.zst"),
        (["--out", "x.jsonl", "--most-tokens", "5"], "'--most-tokens': needs --tokenizer, whose tokens it counts"),
        (["--out", "x.jsonl"], "has no curriculum"),
    ],
)
def test_what_cannot_be_exported(selfplay: Any, tmp_path: Path, arguments: list[str], said: str) -> None:
    done = selfplay("trajectories", "export", tmp_path, *arguments, cwd=tmp_path)
    assert done.code == 2 and said in done.err


def test_a_file_that_is_no_trajectory(selfplay: Any, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl.zst").write_bytes(b"nonsense")
    done = selfplay("show", tmp_path / "x.jsonl.zst")
    assert done.code == 2 and "is not a trajectory" in done.err
