"""Both roles played through the server by a strong model, written by hand: planted, attempted, graded, credited."""

import json
import os
import shutil
import signal
import stat
from http.client import HTTPConnection
from pathlib import Path

import pytest
from recorded import messages
from run_fixtures import Command, Done

from selfplay.curriculum.open_pool import read_pool
from selfplay.environments.client import ADDRESS_FILE, Client, NotServed, RemoteEpisode, RemoteStep
from selfplay.environments.errors import Busy, EnvironmentRefused, NoSession, NoTask, WrongToken

PLANTED, MENDED = messages("shop_injector.txt"), messages("shop_solver.txt")
Served = tuple[Path, Client]


def play(episode: RemoteEpisode, lines: list[str]) -> RemoteStep:
    """Say the lines one by one, then nothing more, until the episode ends."""
    told = iter(lines)
    while not episode.step.done:
        line = next(told, None)
        _ = episode.stop() if line is None else episode.say(line)
    return episode.step


@pytest.mark.slow
def test_an_injector_is_told_its_task_and_its_bug_waits_for_attempts(served: Served) -> None:
    _, client = served
    assert client.tasks("injector") == ["prompt-0", "prompt-1"] and client.tasks("solver") == []
    episode = client.begin("injector", "prompt-0")
    assert [one["role"] for one in episode.step.messages] == ["system", "user"]
    assert "plant a realistic bug" in episode.step.messages[1]["content"]
    (answer,) = episode.say(PLANTED[0]).messages
    assert answer["role"] == "user" and "3 calls" in answer["content"], "only what is new is told"
    found = play(episode, PLANTED[1:]).result
    assert found is not None and (found["outcome"], found["reward"]) == ("valid", None)
    assert client.tasks("solver") == [found["bug"]]
    assert client.credit(found["bug"]) == {"solved": 0, "attempts": 0, "reward": None}


@pytest.mark.slow
def test_the_same_bug_again_is_a_duplicate_and_nothing_submitted_is_invalid(served: Served) -> None:
    """Rewards by docs/credit.md: -0.8 and -1. Both are compared with the first one: they saw its prompt."""
    _, client = served
    again, silent = client.begin("injector", "prompt-0"), client.begin("injector", "prompt-0")
    assert again.group == silent.group
    for episode, lines, outcome, reward in ((again, PLANTED, "duplicate", -0.8), (silent, [], "invalid", -1.0)):
        found = play(episode, lines).result
        assert found is not None and (found["outcome"], found["reward"]) == (outcome, reward)


@pytest.mark.slow
def test_attempts_are_graded_and_decide_what_the_bug_earns(served: Served) -> None:
    """One of two resolves it: 1 - 1.8/2 = 0.1."""
    run, client = served
    (bug,) = client.tasks("solver")
    for lines, outcome, reward in ((MENDED, "resolved", 1.0), (["I am done."] * 3, "failed", -1.0)):
        found = play(client.begin("solver", bug), lines).result
        assert found is not None and (found["outcome"], found["reward"]) == (outcome, reward)
    assert client.credit(bug) == {"solved": 1, "attempts": 2, "reward": pytest.approx(0.1)}
    with read_pool(run) as pool:
        assert [(one.policy, one.number, one.resolved) for one in pool.attempts.all()] == [
            ("outside", 0, True), ("outside", 1, False),
        ]  # fmt: skip


@pytest.mark.slow
def test_no_more_sessions_than_asked_for_and_a_closed_one_frees_its_place(served: Served) -> None:
    _, client = served
    one, two = client.begin("injector", "prompt-0"), client.begin("injector", "prompt-1")
    assert one.group != two.group, "another place to begin at"
    with pytest.raises(Busy, match="all 2 sessions"):
        client.begin("injector", "prompt-1")
    one.close()
    client.begin("injector", "prompt-1").close()
    two.close()
    with pytest.raises(NoSession, match="there is no session"):
        one.say("hello")


@pytest.mark.slow
def test_wrong_requests_say_what_is_wrong(served: Served) -> None:
    _, client = served
    for role, task in (
        ("injector", "prompt-2"),
        ("injector", "prompt-" + "9" * 5000),
        ("injector", "elsewhere"),
        ("solver", "no-such-bug"),
    ):
        with pytest.raises(NoTask):
            client.begin(role, task)  # type: ignore[arg-type]
    with pytest.raises(NoTask):
        client.credit("no-such-bug")
    with pytest.raises(EnvironmentRefused, match="role: 'injector' or 'solver' is needed, not 'judge'"):
        client.begin("judge", "prompt-0")  # type: ignore[arg-type]
    with pytest.raises(EnvironmentRefused, match="nothing at GET"):
        client._ask("GET", "elsewhere")
    with pytest.raises(WrongToken):
        Client(client.port, "guessed").tasks("solver")


@pytest.mark.slow
@pytest.mark.parametrize(("right", "status", "said"), [(True, 400, b"The limit is"), (False, 401, b"the token is")])
def test_a_request_that_is_too_large_is_refused_unread(served: Served, right: bool, status: int, said: bytes) -> None:
    connection = HTTPConnection("127.0.0.1", served[1].port)
    connection.putrequest("POST", "/sessions")
    connection.putheader("Authorization", f"Bearer {served[1].token if right else 'another'}")
    connection.putheader("Content-Length", str(1 << 30))
    connection.endheaders()
    answer = connection.getresponse()
    assert (answer.status, said in answer.read()) == (status, True)


@pytest.mark.slow
def test_the_token_is_for_its_user_alone(served: Served) -> None:
    run, client = served
    assert stat.S_IMODE((run / ADDRESS_FILE).stat().st_mode) == 0o600
    assert json.loads((run / ADDRESS_FILE).read_text()) == {"port": client.port, "token": client.token}


@pytest.mark.slow
def test_bugs_of_a_curriculum_can_be_attempted(
    selfplay: Command, finished: tuple[Path, Done], shop: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(finished[0], run)
    with read_pool(run) as pool:
        bugs = [bug.id for bug in pool.bugs()]
    with selfplay.running("serve-env", shop, "--out", run, "--sessions", 1) as server:
        server.until("serving")
        client = Client.of(run)
        assert set(client.tasks("solver")) == set(bugs) and len(bugs) == 4
        found = client.begin("solver", bugs[0]).stop().result
        assert found is not None and (found["outcome"], found["finish"]) == ("failed", "out_of_context")
        server.ends_by(signal.SIGINT)
    assert not (run / ADDRESS_FILE).exists(), "a server that was asked to end leaves no address behind"


def test_a_run_that_nobody_serves(tmp_path: Path) -> None:
    with pytest.raises(NotServed, match="selfplay serve-env"):
        Client.of(tmp_path)
    os.mkfifo(tmp_path / ADDRESS_FILE)
    with pytest.raises(NotServed, match="not a regular file"):
        Client.of(tmp_path)
    (tmp_path / ADDRESS_FILE).unlink()
    (tmp_path / ADDRESS_FILE).write_text('{"port": 1, "token": "t"}')
    with pytest.raises(NotServed, match="does not answer"):
        Client.of(tmp_path).tasks("solver")
