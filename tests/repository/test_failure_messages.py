"""What pytest's closing lines say of failed tests, for people."""

from selfplay.repository.suites.pytest_suite import MOST_MESSAGE, failure_messages

LOG = b"""FAILED t.py::a - assert 1 == 2
FAILED t.py::b[x - y] - ValueError: <X object at 0x7f31a2b3c4d5>
ERROR t.py::c - RuntimeError
FAILED t.py::d
FAILED other.py::e - assert 0
\xff\xfe FAILED t.py::a - not at the beginning
"""


def test_each_named_test_has_its_line() -> None:
    assert failure_messages(LOG, ["t.py::a", "t.py::c", "t.py::d"]) == {
        "t.py::a": "assert 1 == 2",
        "t.py::c": "RuntimeError",
    }


def test_addresses_differ_between_runs_and_are_left_out() -> None:
    assert failure_messages(b"FAILED t.py::b - <X at 0x7f31a2b3c4d5>\n", ["t.py::b"]) == {"t.py::b": "<X at 0x...>"}


def test_a_long_message_is_cut() -> None:
    assert len(failure_messages(b"FAILED t - " + b"x" * 9999, ["t"])["t"]) == MOST_MESSAGE
