"""The status of an answer: that of a refusal, and 500 for every other error, whatever fields it has."""

import threading
from http.client import HTTPConnection
from http.server import HTTPServer
from typing import Any

import pytest

from selfplay.environments.errors import Busy, EnvironmentRefused, NoTask
from selfplay.environments.server import OURS, _Handler
from selfplay.errors import SelfplayError


class OfAnother(SelfplayError):
    """An error of another room, which means something else by the word."""

    status = "damaged"


@pytest.mark.parametrize(
    ("error", "status"),
    [(NoTask("x"), 404), (Busy("x"), 503), (EnvironmentRefused("x"), 400), (OfAnother("x"), OURS)],
)
def test_an_error_has_the_status_of_its_kind(error: SelfplayError, status: int) -> None:
    class Failing(_Handler):
        def answer(self) -> Any:
            raise error

    with HTTPServer(("127.0.0.1", 0), Failing) as server:
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        connection.request("GET", "/tasks")
        answer = connection.getresponse()
        assert (answer.status, type(error).__name__.encode() in answer.read()) == (status, True)
        connection.close()
        thread.join()
