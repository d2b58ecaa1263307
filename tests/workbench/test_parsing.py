"""What a parser may print, read strictly."""

import pytest

from selfplay.workbench import ParserError, read_outcomes


def test_any_text_may_be_an_id():
    printed = '{"a b [x-1] > é 日本 \\ud83d\\ude00": "passed", "t::C::m[\\"q\\"]": "failed"}\n'
    assert read_outcomes(printed.encode()) == {"a b [x-1] > é 日本 😀": "passed", 't::C::m["q"]': "failed"}


@pytest.mark.parametrize(
    ("printed", "says"),
    [
        (b"", "no JSON: ''"),
        (b"ok\n", "no JSON: 'ok"),
        (b'{"a": "passed"} tail', "no JSON"),
        (b'{"a": "passed"}\n{"b": "passed"}', "no JSON"),
        (b"\xff", "no JSON"),
        (b"[]", "JSON list"),
        (b"null", "NoneType"),
        (b"{}", "printed {}"),
        (b'{"a": "PASSED"}', "'PASSED' of 'a'"),
        (b'{"a": true}', "True of 'a'"),
        (b'{"a": ["passed"]}', "['passed'] of 'a'"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b'{" ": "passed"}', "is not text"),
        (b'{"\\ud800": "passed"}', "is not text"),
        (b'{"a": "passed", "a": "failed"}', "the key 'a' occurs twice"),
    ],
)
def test_everything_else_is_refused(printed, says):
    with pytest.raises(ParserError) as caught:
        read_outcomes(printed)
    assert says in str(caught.value)
