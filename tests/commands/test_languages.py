"""A model's injector where no suite is measured, and what is refused before anything is installed."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hand_made import DATA, original
from recorded import playing, serving
from repository_fixtures import write

from selfplay.artifact import FILE_NAMES
from selfplay.commands import curriculum
from selfplay.commands.order import Order
from selfplay.repository import NoTests, Suite
from selfplay.sandbox import Backend

SUBMIT = "<tool: submit>\n{}</tool>"


def here(name: str, text: str) -> str:
    return f"cat > {name} <<'END_OF_FILE'\n{text.rstrip()}\nEND_OF_FILE\n"


def stages(language: str) -> dict[str, list[str]]:
    """What an able model says in each stage: it submits the artifact of the language that lies in the test data."""
    given = {name: (DATA / language / "artifact" / name).read_text() for name in FILE_NAMES.values()}
    files = [name for name in given if not name.endswith(".diff")]
    written = "".join(here(f"/tmp/artifact/{name}", given[name]) for name in files)
    found = f"<tool: bash>\nmkdir -p /tmp/artifact\n{written}</tool>"
    handed = SUBMIT.format("".join(f"/tmp/artifact/{name}\n" for name in files))

    def applied(diff: str) -> list[str]:
        apply = here("/tmp/my.diff", given[diff]) + "git apply /tmp/my.diff\n"
        return [f"<tool: bash>\n{apply}</tool>", SUBMIT.format("")]

    return {
        "Find out how its tests are run, and write": [found, handed],
        "Plant a realistic bug in its code": applied("bug_inject.diff"),
        "Hide the bug": applied("test_weaken.diff"),
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("language", "told"),
    [
        ("c", "the suite is not measured, and the policy has to find the tests itself"),
        ("javascript", "9 tests pass in"),
        ("own_runner", "the suite is not measured, and the policy has to find the tests itself: no tests can be"),
    ],
)
def test_a_model_plants_a_bug_in_any_language(selfplay: Any, tmp_path: Path, language: str, told: str) -> None:
    """Valid by all checks, repaired by the original, and graded for what it is: weakly assured."""
    out = tmp_path / "run"
    with serving(playing(stages(language))) as (url, _):
        how = ["--policy", "openai:m", "--base-url", url, "--option", "staged=true"]
        made = selfplay("curriculum", original(language), "--out", out, "--bugs", 1, "--strategy", "direct", *how)
    assert made.code == 0, made.err
    assert told in made.err
    solved = selfplay("solve", out, "--attempts", 1, "--policy", "gold", "--json")
    assert solved.code == 0, solved.err
    assert solved.json["solving"]["gold"]["reasons"] == {"resolved": 1}
    found = solved.json["solving"]["gold"]
    assert found["assurance"] == {"weak": 1} and found["weak_layers"]
    (layer, *_) = found["weak_layers"]
    assert f"1 of 1: {layer} 1" in " ".join(selfplay("show", out).out.split())


@pytest.mark.slow
def test_a_script_is_refused_before_anything_is_installed(selfplay: Any, tmp_path: Path) -> None:
    """No sandbox of ours has Rust's tools, which is what a build would say first."""
    source = write(tmp_path / "source", {"src/lib.rs": "", "Cargo.toml": "[package]\n"})
    refused = selfplay("curriculum", source, "--out", tmp_path / "run")
    assert refused.code == 2 and "holds code in rust, and the scripted injector knows" in refused.err
    assert "--policy openai:MODEL" in refused.err and "cargo" not in refused.err


@pytest.mark.parametrize(
    ("language", "file", "goes_on"),
    [
        ("python", "shop.py", False),
        ("python", "tox.ini", False),
        ("python", "tests/checks.py", True),
        ("c", "a.c", True),
    ],
)
def test_a_model_is_not_sent_where_there_is_no_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, language: str, file: str, goes_on: bool
) -> None:
    """A Python repository without tests is refused to a model, too: a training run benches it at once."""

    def none(*_: Any, **__: Any) -> Suite:
        raise NoTests("no tests can be collected in a", "")

    monkeypatch.setattr(curriculum, "measure_suite", none)
    repository: Any = SimpleNamespace(language=language, tree=write(tmp_path / "tree", {file: ""}))
    order = Order("a", tmp_path, policy="openai:m")
    with nullcontext() if goes_on else pytest.raises(NoTests, match="no tests can be collected in a"):
        suite = curriculum.measured_here(order, repository, cast(Backend, None))
        assert suite == Suite((), {}, language=language, runner="", why="no tests can be collected in a")
