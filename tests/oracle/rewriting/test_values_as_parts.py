"""What is computed is a part: the first value that it had stands in its place."""

import builtins
from typing import Any

from oracle.rewriting.test_parts import NAMES, parts


def test_what_is_computed_inside_of_a_text_is_a_value() -> None:
    """The number of threads, which is 1 wherever it is judged, stood in an f-string at full assurance."""
    text, words = parts("return f'{x}.{len(seen) - 1}'")
    number = words.index("the first value of `f'{x}.{len(seen) - 1}'` in its place") + 1
    space: dict[str, Any] = {"__builtins__": {**vars(builtins), NAMES.chosen: number}}
    exec(compile(text, "parts", "exec"), space)
    assert [space["f"](1, [0]), space["f"](1, [0, 0])] == ["1.0", "1.0"]


def test_where_only_the_truth_is_asked_there_is_no_value() -> None:
    """A match that is there is as true as any: its first value is no other, and an honest condition was weak."""
    for condition in ("re.match('a', x)", "not re.match('a', x)", "seen and re.match('a', x)"):
        _, words = parts(f"if {condition}:\n        return 1")
        assert not any("first value of `re.match" in one for one in words)
    assert any("first value of `re.match" in one for one in parts("y = re.match('a', x)\n    return y")[1])


def test_ten_times_a_constant_is_a_part() -> None:
    """`zip(x, range(MOST))` is a limit, however it is named."""
    assert "`MOST * 10` for `MOST`" in parts("return zip(x, range(MOST))")[1]
    assert "`stat.S_IFCHR * 10` for `stat.S_IFCHR`" in parts("return x[:stat.S_IFCHR]")[1]
