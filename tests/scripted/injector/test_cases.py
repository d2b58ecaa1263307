"""Tables of a parametrised test: what only looks like one is left alone."""

from dataclasses import replace

import pytest
from scripted.injector.test_weaken import failing, weakened


@pytest.mark.parametrize("names", ["5", "None", "[5]", "{[]}", "b'n'", "some.names"])
def test_a_decorator_that_only_looks_like_parametrize_is_no_table(names: str) -> None:
    """A project's own: its numbers ended fifteen of 42 episodes with a TypeError."""
    text = f"@my.parametrize({names}, [\n    1,\n    2,\n])\ndef test_n(n):\n    assert n\n"
    failure = replace(failing(text, "test_n"), indices={"n": 0})
    after = weakened(text, [failure], "cases")
    assert after is None or "    1,\n" in after or "test_n" not in after
