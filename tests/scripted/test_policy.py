from collections.abc import Generator

from selfplay.agent import Budget, Call, Observation
from selfplay.scripted.policy import ScriptedPolicy

SEEN = Observation("seen", 0, Budget(1, 1.0))


def test_a_script_yields_calls_receives_observations_and_then_has_nothing_more_to_do() -> None:
    received: list[Observation] = []

    def script() -> Generator[Call, Observation, None]:
        received.append((yield Call("bash", {"command": "a"})))
        received.append((yield Call("bash", {"command": "b"})))

    policy = ScriptedPolicy("name", script())
    assert policy.act(None) == Call("bash", {"command": "a"})
    assert policy.act(SEEN) == Call("bash", {"command": "b"})
    assert policy.act(SEEN) is None and policy.act(SEEN) is None
    assert received == [SEEN, SEEN] and policy.name == "name"
