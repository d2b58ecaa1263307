"""What a run records of its environment: versions, never paths; `name==version`, never URLs."""

import pytest
from packaging.requirements import Requirement

from selfplay.artifact import Bug
from selfplay.artifact.environment import pinned, recorded_environment
from selfplay.artifact.reading import UntrustedDataError

GOOD = ["a==1", "b-c.d_e==2.0.1", "torch==2.9.0+cpu", "x==1!2.0rc1.post3.dev4", "A9==0"]
BAD = [
    "pytest @ http://127.0.0.1/x.whl", "pytest@file:///x",
    "-r /etc/passwd", "--index-url=x", "a==1 ", " a==1", "a==1\n",
    "a==1\nb==2", "a==1; python_version>'3'", "a[x]==1", "a===1", "a>=1", "a==1.*", "a", "", "a==", "==1", "-a==1",
    "a-==1", "a==1,<2", "a==1 --hash=sha256:0", "./a==1", "a/b==1", "git+https://x==1", "a==../x", "\xe9==1",
]  # fmt: skip


@pytest.mark.parametrize("line", GOOD)
def test_a_pin(line: str) -> None:
    assert pinned(line)
    one = Requirement(line)  # what installers read
    assert one.url is None and one.marker is None and not one.extras and len(one.specifier) == 1


@pytest.mark.parametrize("line", BAD)
def test_no_pin(line: str) -> None:
    assert not pinned(line)
    with pytest.raises(UntrustedDataError, match=r"lock\.0: .* is not name==version"):
        recorded_environment({"lock": [line]})


@pytest.mark.parametrize("python", ["3.11", "3.11.4", "3.15.0rc1", None])
def test_a_version_of_python(python: str | None) -> None:
    assert recorded_environment({"python": python}).python == python


@pytest.mark.parametrize(
    "python", ["/usr/bin/python3", "python3.11", "../x", "3.11 -c x", "3.11\n", "", "3", "3.11/../x", 3.11, ["3.11"]]
)
def test_no_version_of_python(python: object) -> None:
    with pytest.raises(UntrustedDataError, match="python: "):
        recorded_environment({"python": python})


@pytest.mark.parametrize(
    ("name", "value"),
    [("setup", 3), ("setup", "x" * 70_000), ("version", "1; x"), ("tree_hash", "HEAD"), ("commit", "-x"),
     ("source", "a\nb"), ("lock", "a==1"), ("lock", ["a==1"] * 6000), ("allow_hosts", "h"), ("image", 1)],
)  # fmt: skip
def test_other_fields_are_typed(name: str, value: object) -> None:
    with pytest.raises(UntrustedDataError, match=name):
        recorded_environment({name: value})


def test_fields_of_a_later_version_are_kept_in_a_bug() -> None:
    environment = {"python": "3.11.4", "lock": ["a==1"], "room": 1, "later": {"x": [1]}}
    bug = Bug(
        id="b", strategy="direct", seed=0, source="s", revision="r", commit="c", tree_hash="7" * 40, content_hash="h",
        fail_to_pass=("x",), pass_to_pass=(), policy="p", environment=environment,
    )  # fmt: skip
    assert bug.environment == environment
    with pytest.raises(ValueError, match="is not a version"):
        Bug(**{**bug.model_dump(), "environment": {"python": "/x"}})
