import asyncio
import threading
from collections.abc import Generator

from selfplay.agent import Budget, Call, Finish, Observation
from selfplay.agent.actions import Stop
from selfplay.agent.trajectory import Record
from selfplay.scripted.policy import ScriptedPolicy, Stuck

SEEN = Observation("seen", 0, Budget(1, 1.0))
A, B = Call("bash", {"command": "a"}), Call("bash", {"command": "b"})


def played(policy: ScriptedPolicy, turns: int) -> list[object]:
    async def play() -> list[object]:
        return [await policy.act(SEEN if n else None) for n in range(turns)]

    return asyncio.run(play())


def test_a_script_yields_calls_receives_observations_and_then_has_nothing_more_to_do() -> None:
    received: list[Observation] = []

    def script() -> Generator[Call, Observation, None]:
        received.append((yield A))
        received.append((yield B))

    policy = ScriptedPolicy("name", script())
    assert played(policy, 4) == [A, B, Stop(), Stop()]
    assert received == [SEEN, SEEN] and policy.name == "name" and policy.record() == Record()


def test_a_script_that_is_stuck_gives_up_and_says_why() -> None:
    def script() -> Generator[Call, Observation, None]:
        yield A
        raise Stuck("there is nothing to change")

    policy = ScriptedPolicy("name", script())
    assert played(policy, 2) == [A, Stop("there is nothing to change", Finish.GAVE_UP)]


def test_the_event_loop_goes_on_while_a_script_works_out_its_next_call() -> None:
    """The script waits for something that only the loop does: on the loop's own thread it would wait for ever."""
    happened = threading.Event()

    def script() -> Generator[Call, Observation, None]:
        assert happened.wait(timeout=30)
        yield A

    async def play() -> object:
        turn = asyncio.create_task(ScriptedPolicy("name", script()).act(None))
        await asyncio.sleep(0)
        happened.set()
        return await turn

    assert asyncio.run(play()) == A
