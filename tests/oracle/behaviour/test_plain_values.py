"""Values as plain JSON: what counts as the same answer."""

from typing import Any

from selfplay.oracle import inside


def plain(value: object) -> Any:
    room: dict[str, Any] = {}
    exec(inside.text("selfplay_plain.py"), room)
    return room["selfplay_plain"](value, 5)


class Held:
    def __init__(self, **values: object) -> None:
        self.values = values


def test_the_order_of_a_dictionary_counts_in_an_answer_and_not_in_an_object() -> None:
    """A right repair that added one of four functions in a line of its own was refused."""
    assert plain({"a": 1, "b": 2}) != plain({"b": 2, "a": 1})
    assert plain(Held(a=1, b=2)) == plain(Held(b=2, a=1)) != plain(Held(b=1, a=2))
    assert plain([Held(a=1), {"a": 1, "b": 2}]) != plain([Held(a=1), {"b": 2, "a": 1}])
