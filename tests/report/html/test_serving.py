"""`selfplay report --serve`: what it answers to whom, and that it only reads, also a run that goes on."""

import http.client
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from ordinary_user import by_root
from report.made_runs import HOSTILE, bug, made_run

from selfplay.commands.report import ReportError, serve_report
from selfplay.curriculum import Attempt, CurriculumError, open_curriculum
from selfplay.local_server import MOST_OPEN, MOST_THREADS, LocalServer
from selfplay.report.html.serving import SECONDS

Ask = Callable[..., tuple[int, bytes, dict[str, str]]]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return made_run(tmp_path / "run", text=HOSTILE)


@pytest.fixture
def server(run: Path) -> Iterator[LocalServer]:
    with serve_report(run, 0) as found:
        thread = threading.Thread(target=found.serve_forever)
        thread.start()
        yield found
        found.shutdown()
        thread.join()


@pytest.fixture
def ask(server: LocalServer) -> Ask:
    port = server.server_address[1]

    def asked(path: str, method: str = "GET", host: str = f"127.0.0.1:{port}") -> tuple[int, bytes, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host)
        connection.endheaders()
        answer = connection.getresponse()
        found = answer.status, answer.read(), dict(answer.getheaders())
        connection.close()
        return found

    return asked


def test_it_answers_the_page_its_news_and_details(ask: Ask) -> None:
    status, page, headers = ask("/")
    assert status == 200 and b"data-live" in page and headers["Content-Type"] == "text/html; charset=utf-8"
    assert "connect-src 'self'" in headers["Content-Security-Policy"] and headers["Cache-Control"] == "no-store"
    status, news, headers = ask("/news")
    index = json.loads(news)
    assert status == 200 and len(index["bugs"]) == 4 and headers["X-Content-Type-Options"] == "nosniff"
    assert ask(f"/news?since={index['tag']}")[:2] == (204, b"")
    detail = json.loads(ask(f"/bug/{bug(0).id}")[1])
    assert len(detail["attempts"]) == 2
    assert len(json.loads(ask("/episode/000000-injector.jsonl.zst")[1])["steps"]) == 2


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1.nip.io:{port}", ""])
def test_another_host_is_refused(ask: Ask, server: LocalServer, host: str) -> None:
    status, said, _ = ask("/", host=host.format(port=server.server_address[1]))
    assert status == 421 and b"problem" in said and b"demo" not in said


def test_localhost_is_its_name_too(ask: Ask, server: LocalServer) -> None:
    assert ask("/", host=f"localhost:{server.server_address[1]}")[0] == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "BREW"])
def test_only_get_is_answered(ask: Ask, method: str) -> None:
    assert ask("/", method)[0] == 405


@pytest.mark.parametrize(
    "path",
    ["/bug/../../etc/passwd", "/bug/%2e%2e%2fsecret", "/bug/nobody", "/bug/%00", "/bug/%ff", "/episode/nothing",
     "/episode/..%2f..%2fcurriculum.sqlite", "/etc/passwd", "/bug/", "//evil.example/", "/page.css",
     f"/bug/{'a' * 3000}"],
)  # fmt: skip
def test_what_is_not_of_the_run_is_not_found(ask: Ask, path: str) -> None:
    status, said, _ = ask(path)
    assert status == 404 and "problem" in json.loads(said) and b"<script>" not in said


def test_a_malformed_request_is_answered_and_the_next_one_too(ask: Ask, server: LocalServer) -> None:
    for raw in (
        b"\0\0\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", server.server_address[1]), timeout=60) as connection:
            connection.sendall(raw)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1000)
    assert ask("/news")[0] == 200


def test_an_address_that_is_none_is_answered(ask: Ask) -> None:
    assert ask("http://[x")[0] == 400
    assert ask("/")[0] == 200


def test_silent_connections_keep_nobody_out(ask: Ask, server: LocalServer) -> None:
    before = _answering()  # other tests of this process may have left some
    with ExitStack() as stack:
        for _ in range(3 * MOST_OPEN):
            stack.enter_context(socket.create_connection(server.server_address[:2], timeout=60))
        assert ask("/news")[0] == 200
        until = time.monotonic() + SECONDS / 2  # those shut down end a moment later, the silent ones only after SECONDS
        while len(answering := _answering() - before) > MOST_OPEN and time.monotonic() < until:
            time.sleep(0.01)
        assert 0 < len(answering) <= MOST_OPEN
    assert ask("/news")[0] == 200


def test_what_ended_connections_asked_for_takes_no_more_threads(ask: Ask, server: LocalServer, run: Path) -> None:
    """Each asks for a bug and ends, while another reader holds the run: their threads wait for it."""
    before, followed = _answering(), server.RequestHandlerClass.args[0]  # type: ignore[attr-defined]
    head = f"GET /bug/{bug(1).id} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_address[1]}\r\n\r\n"
    with ExitStack() as stack:
        with followed._lock:
            for _ in range(2 * MOST_THREADS):
                connection = stack.enter_context(socket.create_connection(server.server_address[:2], timeout=60))
                connection.sendall(head.encode())
            until = time.monotonic() + 10
            while len(_answering() - before) < MOST_THREADS and time.monotonic() < until:
                time.sleep(0.01)
            assert len(_answering() - before) == MOST_THREADS
        assert ask("/news")[0] == 200


def _answering() -> set[threading.Thread]:
    """The threads of this process that answer a connection."""
    return {each for each in threading.enumerate() if "process_request" in each.name}


def state(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file and folder: when it was changed, which it is, what it holds."""
    found = {}
    for path in sorted(folder.rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (path.stat().st_mtime_ns, path.stat().st_ino, data)
    return found


def test_nothing_in_the_run_changes_and_its_writer_goes_on(ask: Ask, run: Path) -> None:
    """The pool is held open for writing, locked, while the page is read; a staged folder of its writer stays."""
    with open_curriculum(run) as pool:
        (run / "staging" / "000077").mkdir(parents=True)
        before = state(run)
        first = json.loads(ask("/news")[1])
        ask(f"/bug/{bug(1).id}"), ask("/episode/000001-injector.jsonl.zst")
        assert state(run) == before
        pool.attempts.add(Attempt(bug(1).id, "scripted", 9, True, "resolved", "", ""))
        status, said, _ = ask(f"/news?since={first['tag']}")
        assert status == 200 and json.loads(said)["totals"]["resolved"] == first["totals"]["resolved"] + 1


def test_a_bug_that_breaks_while_it_is_followed_is_named(ask: Ask, run: Path) -> None:
    assert len(json.loads(ask("/news")[1])["bugs"]) == 4
    (run / "bugs" / bug(2).id / "bug_inject.diff").unlink()
    os.utime(run / "bugs")
    found = json.loads(ask("/news")[1])
    assert [what for what, _ in found["problems"]] == [f"bugs/{bug(2).id}"] and len(found["bugs"]) == 3
    assert ask(f"/bug/{bug(2).id}")[0] == 404


def test_a_run_that_is_taken_away_is_told(ask: Ask, run: Path, tmp_path: Path) -> None:
    run.rename(tmp_path / "away")
    status, said, _ = ask("/news")
    assert status == 404 and "has no curriculum" in json.loads(said)["problem"]


def test_only_the_loopback_is_listened_to(server: LocalServer) -> None:
    assert server.server_address[0] == "127.0.0.1"


ASKING = """
import socket, sys
link = socket.socket(getattr(socket, sys.argv[1]))
link.settimeout(20)
link.connect((("::ffff:" if sys.argv[1] == "AF_INET6" else "") + "127.0.0.1", int(sys.argv[2])))
try:
    link.sendall(b"GET / HTTP/1.1\\r\\nHost: 127.0.0.1:%s\\r\\n\\r\\n" % sys.argv[2].encode())
    print(len(link.recv(100)))
except ConnectionError:
    print(0)
"""


@by_root
@pytest.mark.parametrize("family", ["AF_INET", "AF_INET6"])
@pytest.mark.parametrize("user", [0, 65534])
def test_another_user_of_the_machine_is_answered_nothing(server: LocalServer, family: str, user: int) -> None:
    """The run's folder may be closed to others; what is served from it is, too."""
    command = ["/usr/bin/python3", "-c", ASKING, family, str(server.server_address[1])]
    done = subprocess.run(command, user=user, group=user, extra_groups=[], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and (int(done.stdout) > 0) == (user == 0), done.stderr


def test_a_port_in_use_and_a_folder_without_a_run_are_refused(server: LocalServer, run: Path, tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="cannot be used"):
        serve_report(run, int(server.server_address[1]))
    with pytest.raises(CurriculumError, match="has no curriculum"):
        serve_report(tmp_path, 0)
