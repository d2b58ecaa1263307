"""How a command refuses."""

from run_fixtures import Done


def refused(done: Done, *parts: str) -> None:
    """It ended with exit code 2 and one message of one or two lines that holds these parts."""
    assert done.code == 2 and "Traceback" not in done.err, done.err
    message = done.err[done.err.index("selfplay: ") :]
    assert len(message.splitlines()) <= 2, message
    for part in parts:
        assert part in message, message
