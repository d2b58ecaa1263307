"""Text of a stranger that is shown."""

from selfplay.plain_text import told


def test_a_line_end_in_a_message_begins_no_line_of_ours() -> None:
    assert told("no such name: \x1b[2Jx\nselfplay: all is well") == "no such name: \ufffd[2Jx\n  selfplay: all is well"
