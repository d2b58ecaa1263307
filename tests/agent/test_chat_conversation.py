"""What is of messages alone: ids of an endpoint, observations by characters, thoughts apart, native calls."""

from saying import SUBMIT, Says, bash, play

from selfplay.agent import Finish
from selfplay.agent.model import NativeCall, Reply
from selfplay.sandbox import Sandbox


def test_an_observation_is_cut_for_the_model_and_kept_in_the_step(sandbox: Sandbox) -> None:
    model = Says([bash("seq 100000"), SUBMIT, "Done."])
    trajectory = play(sandbox, model, observation_chars=1000)
    assert len(model.heard[1][-1].content) < 1200 < 100_000 < len(trajectory.steps[0].output)


def test_thoughts_are_kept_apart(sandbox: Sandbox) -> None:
    trajectory = play(sandbox, Says([Reply(SUBMIT, thoughts="Hm."), "Done."]))
    assert trajectory.record.thoughts == ("Hm.", "")
    assert "Hm." not in str(trajectory.record.conversations)


def native(*calls: tuple[str, str], text: str = "") -> Reply:
    return Reply(text, tuple(NativeCall(f"id{n}", name, arguments) for n, (name, arguments) in enumerate(calls)))


def test_native_calls(sandbox: Sandbox) -> None:
    both = native(("bash", '{"command": "touch a"}'), ("submit", "{}"))
    model = Says(
        [native(("bash", "{")), both, native(("bash", '{"command": "ls -A"}')), native(("submit", "{}")), "Ok."]
    )
    trajectory = play(sandbox, model, native=True)
    assert trajectory.finish == Finish.SUBMITTED
    assert [step.malformed for step in trajectory.steps] == [True, True, False, False]
    assert trajectory.steps[2].output == ""  # neither of the two was run
    answers = model.heard[2][-2:]
    assert [(m.role, m.answers) for m in answers] == [("tool", "id0"), ("tool", "id1")]  # each is answered by its id
    assert "<tool:" not in answers[0].content
