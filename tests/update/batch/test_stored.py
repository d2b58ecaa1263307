"""Episodes of a run's folder with their tapes: what is whole, cut short, damaged, or of another tokenizer."""

import math
from array import array
from pathlib import Path
from typing import Any

import pytest
from letters import Letters

from selfplay.agent import Finish, Trajectory
from selfplay.agent.actions import Call
from selfplay.agent.chat_format import ChatFormat
from selfplay.agent.model import Message, Sampling, Usage
from selfplay.agent.tape import SampledSpan, Segment
from selfplay.agent.taped_answers import TokenizerMismatch
from selfplay.agent.trajectory import Record, Step
from selfplay.agent.trajectory_file import save
from selfplay.commands.credit import CreditOrder, credited_runs
from selfplay.commands.solve import settle_attempts
from selfplay.curriculum import Attempt, AttemptFigures, open_curriculum
from selfplay.curriculum.attempts import attempt_trajectory
from selfplay.rl.credit.rules import Reason
from selfplay.rollout.scripted_player import ScriptedPlayer
from selfplay.update.batch import stored
from selfplay.update.batch.played import Played
from selfplay.update.batch.stored import played_in
from selfplay.update.errors import LearningError

TOLD = (Message("system", "S"), Message("user", "U"))
CONVERSATION = (
    *TOLD,
    Message("assistant", "bad", malformed=True),
    Message("user", "why"),
    Message("assistant", "good"),
)
TAPE = "<sS><uU><abad><uwhy><agood>"
CHAT = ChatFormat(Letters())


def segment(text: str = TAPE) -> Segment:
    """The tape with its answers `bad>` and `good>`, sampled by versions 2 and 3."""
    spans = [(start, end) for start, end in ((10, 14), (22, 27)) if end <= len(text)]
    mask, logprobs = array("b", bytes(len(text))), array("d", [0.0]) * len(text)
    for start, end in spans:
        mask[start:end], logprobs[start:end] = array("b", b"\1" * (end - start)), array("d", [-0.5]) * (end - start)
    stretches = tuple(
        SampledSpan(*span, (version, version), "stop", version == 2) for version, span in enumerate(spans, 2)
    )
    return Segment(array("i", map(ord, text)), mask, logprobs, (2, 3), "solver", "stop", stretches)


def run_of(folder: Path, *records: Record, sampled: int = 9) -> Path:
    """A run with these attempts at one bug."""
    with open_curriculum(folder) as pool:
        for number, record in enumerate(records):
            usage = {"completion_tokens": sampled}
            figures = AttemptFigures(finish="submitted", usage=usage)
            name = attempt_trajectory("b", "scripted", number)
            pool.attempts.add(Attempt("b", "scripted", number, False, "x", "", "", figures, trajectory=name))
            save(Trajectory("solver", "m", Finish.SUBMITTED, record=record), folder / "trajectories" / name)
    return folder


def test_an_episode_says_where_its_seconds_went(tmp_path: Path) -> None:
    """20 s in all: 3 + 4 of the model, 1.5 of the tool, 6 of grading; 5.5 are left."""
    folder, name = tmp_path / "run", attempt_trajectory("b", "scripted", 0)
    figures = AttemptFigures(usage={"completion_tokens": 9}, seconds=20.0, grading_seconds=6.0)
    step = Step(Call("bash", {}), "", 0, 1.5)
    record = Record((CONVERSATION,), (segment(),), seconds=(3.0, 4.0))
    with open_curriculum(folder) as pool:
        pool.attempts.add(Attempt("b", "scripted", 0, False, "x", "", "", figures, trajectory=name))
        save(Trajectory("solver", "m", Finish.SUBMITTED, (step,), record=record), folder / "trajectories" / name)
    (one,) = played_in(folder)
    assert one.spent == {"generation": 7.0, "tools": 1.5, "judging": 6.0, "rest": 5.5}


def damage_of(folder: Path, record: Record) -> str:
    (one,) = played_in(run_of(folder, record))
    assert one.episode.damaged == bool(one.damage) and (one.episode.tokens == 0) == bool(one.damage)
    return one.damage


def test_a_tape_gives_its_tokens_versions_and_prompt(tmp_path: Path) -> None:
    first, second = played_in(
        run_of(tmp_path, Record((CONVERSATION,), (segment(),)), Record((CONVERSATION,), (segment(),))),
        chat=lambda: CHAT,
    )
    assert (first.episode.tokens, first.oldest, first.newest, first.finish) == (9, 2, 3, "submitted")
    assert [(one.start, one.end, one.malformed) for one in first.answers] == [(10, 14, True), (22, 27, False)]
    assert first.episode.prompt == second.episode.prompt != ""
    (other,) = played_in(run_of(tmp_path / "x", Record((CONVERSATION,), (segment(TAPE.replace("uU", "uV")),))))
    assert other.episode.prompt != first.episode.prompt


def test_what_has_no_tape_has_no_tokens(tmp_path: Path) -> None:
    (endpoint,) = played_in(run_of(tmp_path / "endpoint", Record((CONVERSATION,), usage=Usage(1, completion_tokens=9))))
    (script,) = played_in(run_of(tmp_path / "script", Record(), sampled=0))
    for one in (endpoint, script):
        assert (one.episode.tokens, one.damage, one.segments) == (0, "", ())


def test_a_tape_cut_short_is_named_and_teaches_nothing(tmp_path: Path) -> None:
    short = Record((CONVERSATION,), (segment(TAPE[:16]),))
    assert "1 sampled part on the tape, 2 answers" in damage_of(tmp_path / "1", short)
    more = segment()
    more.mask[0] = 1
    assert "marks tokens outside its answers" in damage_of(tmp_path / "2", Record((CONVERSATION,), (more,)))
    silent = Segment(array("i", [1]), array("b", [0]), array("d", [0.0]), (0, 0), "solver", "stop")
    assert "0 sampled parts on the tape, 0 answers" in damage_of(tmp_path / "3", Record((), (silent,)))
    bare = Segment(array("i", [1]), array("b", [1]), array("d", [0.0]), (0, 0), "solver", "stop")
    answer = Message("assistant", "x")
    assert "it begins with an answer instead of a prompt" in damage_of(tmp_path / "4", Record(((answer,),), (bare,)))


def test_a_file_cut_short_or_gone_is_named_too(tmp_path: Path) -> None:
    run = run_of(tmp_path, *[Record((CONVERSATION,), (segment(),))] * 3)
    first, second, _ = sorted((run / "trajectories").iterdir())
    first.write_bytes(first.read_bytes()[:-9])
    second.unlink()
    found: list[Played] = played_in(run)
    assert "is not a trajectory" in found[0].damage and second.name in found[1].damage
    assert [one.episode.damaged for one in found] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("[sS][uU][abad][uwhy][agood]", "its beginning differs"),
        (TAPE.replace("good", "gxxd"), "an answer decodes differently"),
    ],
)
def test_a_tape_of_another_template_or_tokenizer_is_refused(tmp_path: Path, text: str, how: str) -> None:
    run = run_of(tmp_path, Record((CONVERSATION,), (segment(text),)))
    with pytest.raises(TokenizerMismatch, match=f"b 0 was taped with another tokenizer or chat template .*: {how}"):
        played_in(run, chat=lambda: CHAT)
    assert len(played_in(run)) == 1  # nobody said whose it should be


def test_what_the_machine_lost_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_curriculum(tmp_path) as pool:
        pool.attempts.add(Attempt("b", "scripted", 0, False, "error", "", "", AttemptFigures()))

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("its file is not needed")

    monkeypatch.setattr(stored, "load", never)
    (one,) = played_in(tmp_path)
    assert one.episode.lost and one.damage == ""


@pytest.mark.parametrize(("name", "value"), [("temperature", 0.7), ("top_p", 0.9)])
def test_a_run_that_was_sampled_otherwise_than_at_1_is_refused_for_an_update(
    tmp_path: Path, name: str, value: float
) -> None:
    """exp(trainer - engine) is the ratio of two distributions that nobody sampled from unless both settings are 1."""
    run = run_of(tmp_path, Record((CONVERSATION,), (segment(),)))
    with open_curriculum(run) as pool:
        pool.settle({name: value})  # of the injections, which have no tape here
    order = CreditOrder((run,))
    assert len(credited_runs(order, print, vocabulary=100)) == 1
    with open_curriculum(run) as pool:
        pool._settle({f"scripted: {name}": value}, {}, "")
    with pytest.raises(LearningError, match=rf"solver episodes of .* \(b 0\) were sampled at {name} {value}"):
        credited_runs(order, print, vocabulary=100)
    assert len(credited_runs(order, print)) == 1  # `selfplay credit` trains nothing


@pytest.mark.parametrize(("sampling", "told"), [(Sampling(0.7), "temperature 0.7"), (Sampling(top_p=0.9), "top_p 0.9")])
def test_an_episode_that_tells_how_it_was_sampled_is_believed_before_its_run(
    tmp_path: Path, sampling: Sampling, told: str
) -> None:
    """The run says 1: a rollout from elsewhere, put beside its own, is refused by what it says itself."""
    own = [Record((CONVERSATION,), (segment(),), sampling=one) for one in (Sampling(), sampling)]
    with pytest.raises(LearningError, match=rf"\(b 1\) were sampled at {told}"):
        credited_runs(CreditOrder((run_of(tmp_path, *own),)), print, vocabulary=100)


def test_attempts_that_a_run_planned_and_did_not_make_keep_a_bug_from_paying(tmp_path: Path) -> None:
    """Two of eight planned attempts are fewer than half; asked for two, they are all. Unequal counts are told."""
    run = run_of(tmp_path, *[Record((CONVERSATION,), (segment(),))] * 2)
    assert {one.credit.reason for one in credited_runs(CreditOrder((run,)), print)} == {Reason.ZERO_ADVANTAGE}
    with open_curriculum(run) as pool:
        settle_attempts(pool, "scripted", ScriptedPlayer("scripted"), 8)  # as `solve` does
        pool.attempts.add(Attempt("other", "scripted", 0, False, "x", "", "", AttemptFigures()))
    told: list[str] = []
    assert {one.credit.reason for one in credited_runs(CreditOrder((run,)), told.append)} == {Reason.TOO_FEW_ATTEMPTS}
    found = credited_runs(CreditOrder((run,), attempts=2), told.append)
    assert [one.credit.reason for one in found[:2]] == [Reason.ZERO_ADVANTAGE] * 2 and len(told) == 2
    with open_curriculum(run) as pool:
        pool.plan_attempts("scripted", 0)  # as in a run of an earlier version
    credited_runs(CreditOrder((run,)), told.append)
    assert "bugs have 1 to 2 attempts" in told[-1]


def test_a_sampled_token_without_a_probability_takes_its_episode_out(tmp_path: Path) -> None:
    """Its ratio would be infinite; a prompt's log-probability is read by nobody."""
    odd, even = segment(), segment()
    odd.logprobs[12], even.logprobs[3] = -math.inf, -math.inf
    assert "recorded probability 0 (-inf) for a token that it sampled" in damage_of(
        tmp_path / "1", Record((CONVERSATION,), (odd,))
    )
    (kept,) = played_in(run_of(tmp_path / "2", Record((CONVERSATION,), (even,))))
    assert (kept.damage, kept.episode.tokens) == ("", 9)
