"""The Pythons of a stranger's image: few are asked, under plain names, and all within one time."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from selfplay.repository.building import interpreters
from selfplay.repository.building.interpreters import INSIDE_SECONDS, MOST_INSIDE, found_inside
from selfplay.sandbox import Completed


class Image:
    """An image whose `ls` says `listed`; each program takes `seconds`, or as long as it may."""

    def __init__(self, listed: list[str], seconds: float = 0.0) -> None:
        self.listed, self.seconds, self.now = listed, seconds, 0.0
        self.asked: list[str] = []

    def open(self, *_: object) -> Any:
        return self

    def __enter__(self) -> "Image":
        return self

    def __exit__(self, *_: object) -> None: ...

    def run(self, command: str | list[str], *, timeout: float) -> Completed:
        if isinstance(command, str):
            return _done("\n".join(self.listed))
        self.asked.append(command[0])
        self.now += min(self.seconds, timeout)
        version = f"3.{len(self.asked)}.0"
        return _done(json.dumps([version, "/usr", command[0]]))


def _done(said: str) -> Completed:
    return Completed(0, said.encode(), b"", timed_out=False, truncated=False, seconds=0.0, cpu_seconds=0.0)


def asked(image: Image) -> list[str]:
    one: Any = image
    found = found_inside(one)
    assert len(found) == len(image.asked)
    return image.asked


def test_two_thousand_names(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"/usr/bin/python3.{number}" for number in range(2000)]
    assert asked(Image(names)) == names[:MOST_INSIDE]
    slow = Image(names, seconds=10.0)
    monkeypatch.setattr(interpreters, "time", SimpleNamespace(monotonic=lambda: slow.now))
    assert len(asked(slow)) == 3 and slow.now == INSIDE_SECONDS  # three of ten seconds


@pytest.mark.parametrize(
    "name",
    ["python3", "/usr/bin/python3 -x", "-c", "/usr/bin/$(x)", "/usr//bin/python", "/a\x1b[2J", "/" + "x" * 101, ""],
)
def test_what_is_no_plain_path_is_not_started(name: str) -> None:
    assert asked(Image([name, "/opt/python-3.12+x/bin/python3.12"])) == ["/opt/python-3.12+x/bin/python3.12"]
