"""Lessons as tokens: sampled ids are kept as they were, others are rendered, malformed calls are not imitated."""

from array import array
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from letters import Letters

from selfplay.agent import Finish, Trajectory
from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.model import Message
from selfplay.agent.tape import SampledSpan, Segment
from selfplay.agent.taped_answers import TokenizerMismatch
from selfplay.agent.trajectory import Record
from selfplay.agent.trajectory_file import save
from selfplay.roles.solver import SOLVER
from selfplay.sft import sequences
from selfplay.sft.sequences import LessonsWanted, lectures
from selfplay.sft.successes import Success

TOLD = (Message("system", "S"), Message("user", "U"))
CONVERSATION = (
    *TOLD,
    Message("assistant", "bad", malformed=True),
    Message("user", "why"),
    Message("assistant", "good"),
)
TAPE = "<sS><uU><abad><uwhy><agood>"


def segment(text: str = TAPE, sampled: str = "bad> good>") -> Segment:
    mask = array("b", bytes(len(text)))
    for part in sampled.split():
        at = text.index(part)
        mask[at : at + len(part)] = array("b", b"\1" * len(part))
    ids = array("i", map(ord, text))
    return Segment(ids, mask, array("d", bytes(8 * len(text))), (0, 0), "solver", "stop")


def played(record: Record, finish: Finish = Finish.SUBMITTED) -> Trajectory:
    return Trajectory("solver", "vllm:teacher", finish, record=record)


def learned(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    trajectory: Trajectory,
    wanted: LessonsWanted = LessonsWanted(("solver",)),
) -> tuple[list[tuple[str, str]], Counter[str]]:
    """Each lecture as its text and the text that is learned, and the counts."""
    path = folder / "000000-solver.jsonl.zst"
    save(trajectory, path)
    found = [Success(path, SOLVER, "told", "bug-1")]
    monkeypatch.setattr(sequences, "successes", lambda pool, roles: iter(found))
    counts = Counter[str]()
    pool = SimpleNamespace(folder=folder)
    made = list(lectures(pool, ChatFormat(Letters()), wanted, counts))  # type: ignore[arg-type]
    assert all(one.family == "bug-1" for one in made)
    kept = lambda one: "".join(chr(i) for i, on in zip(one.ids, one.mask, strict=True) if on)  # noqa: E731
    return [("".join(map(chr, one.ids)), kept(one)) for one in made], counts


def test_a_tape_is_taken_as_it_was_sampled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert learned(monkeypatch, tmp_path, played(Record((CONVERSATION,), (segment(),))))[0] == [(TAPE, "good>")]


def test_answers_that_follow_each_other_are_told_apart_by_their_stretches(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """`bad>` and `good>` stand side by side: one run of sampled ids, two answers."""
    talk = (*TOLD, Message("assistant", "bad", malformed=True), Message("assistant", "good"))
    joined = segment("<sS><uU><abad>good>")
    told = replace(joined, stretches=(SampledSpan(10, 14, (0, 0), "stop", True), SampledSpan(14, 19, (0, 0), "stop")))
    assert learned(monkeypatch, tmp_path, played(Record((talk,), (told,))))[0] == [("<sS><uU><abad>good>", "good>")]
    found, counts = learned(monkeypatch, tmp_path, played(Record((talk,), (joined,))))
    assert found == [] and sum(counts.values()) == 1


def test_what_was_never_answered_is_not_imitated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The episode ran out of calls: its last message was never run, and with it goes all there was to learn."""
    out = played(Record((CONVERSATION,), (segment(),)), Finish.OUT_OF_CALLS)
    assert learned(monkeypatch, tmp_path, out)[0] == []
    fine = (*TOLD, Message("assistant", "bad"), *CONVERSATION[3:])
    out = played(Record((fine,), (segment(),)), Finish.OUT_OF_CALLS)
    assert learned(monkeypatch, tmp_path, out)[0] == [("<sS><uU><abad>", "bad>")]


def test_without_a_tape_or_when_asked_it_is_rendered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert learned(monkeypatch, tmp_path, played(Record((CONVERSATION,))))[0] == [(TAPE, "good>")]
    foreign = played(Record((CONVERSATION,), (segment("[sS][uU][abad][uwhy][agood]", "bad] good]"),)))
    again = LessonsWanted(("solver",), render=True)
    assert learned(monkeypatch, tmp_path, foreign, again)[0] == [(TAPE, "good>")]


def test_what_was_said_before_is_learned_once_or_as_often_as_it_was_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    twice = played(Record((CONVERSATION, CONVERSATION)))
    found, counts = learned(monkeypatch, tmp_path, twice)
    assert found == [(TAPE, "good>")] and counts == {"the same was said before": 1}
    found, counts = learned(monkeypatch, tmp_path, twice, LessonsWanted(("solver",), repeats=True))
    assert found == [(TAPE, "good>")] * 2 and not counts


def test_a_tape_of_another_template_or_tokenizer_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    template = played(Record((CONVERSATION,), (segment("[sS][uU][abad][uwhy][agood]", "bad] good]"),)))
    with pytest.raises(TokenizerMismatch, match=r"000000-solver was taped with another .*: its beginning differs"):
        learned(monkeypatch, tmp_path, template)
    tokenizer = played(Record((CONVERSATION,), (segment(TAPE.replace("good", "gxxd"), "bad> gxxd>"),)))
    with pytest.raises(TokenizerMismatch, match="an answer decodes differently"):
        learned(monkeypatch, tmp_path, tokenizer)


def test_a_tape_cut_short_is_left_out_and_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    short = played(Record((CONVERSATION,), (segment(TAPE[:15], "bad>"),)))
    found, counts = learned(monkeypatch, tmp_path, short)
    assert found == [] and counts == {"damaged, missing, or a tape that is not its conversation's": 1}


def test_strict_takes_only_clean_episodes_that_handed_in(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    strict = LessonsWanted(("solver",), strict=True)
    clean = (*TOLD, Message("assistant", "good"))
    tape = segment("<sS><uU><agood>", "good>")
    assert learned(monkeypatch, tmp_path, played(Record((clean,), (tape,))), strict)[0]
    late = replace(played(Record((clean,), (tape,))), finish=Finish.OUT_OF_TIME)
    found, counts = learned(monkeypatch, tmp_path, late, strict)
    assert found == [] and counts["not strict: a malformed call, or ended by a budget"] == 1
