"""Options that contradict each other are refused before anything is opened or written."""

from pathlib import Path

import pytest
from run_fixtures import Command

from selfplay.cli import conflicts
from selfplay.curriculum import crediting
from selfplay.rollout import controls


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--attempts", 4), "'--attempts': needs --order 2"),
        (("--releases", 4), "'--releases': needs a source pypi:NAME"),
        (("--strategy", "feature"), "'--strategy': the policy scripted adds no features"),
        (("--base-url", "http://localhost/v1"), "'--base-url': needs --policy openai:MODEL, not scripted"),
        (("--policy", "vllm:x", "--api-key-env", "KEY"), "'--api-key-env': needs --policy openai:MODEL, not vllm:x"),
        (("--policy", "search"), "'--policy': search only solves: it goes with `selfplay solve`"),
        (("--option", "calls=3"), "'--option': the policy scripted takes no options"),
        (("--image", "debian"), "'--image': needs --sandbox docker"),
        (("--runtime", "runsc"), "'--runtime': needs --sandbox docker"),
    ],
)
def test_what_a_curriculum_refuses(selfplay: Command, tmp_path: Path, options: tuple[object, ...], said: str) -> None:
    done = selfplay.here("curriculum", tmp_path, "--out", tmp_path / "out", *options)
    assert done.code == 2 and f"Invalid value for {said}" in " ".join(done.err.split()), done.err
    assert "Usage: " in done.err and not (tmp_path / "out").exists()


def test_both_name_the_same_controls() -> None:
    """The options are read before `rollout` is imported, which takes long."""
    assert conflicts.CONTROLS == crediting.CONTROLS == controls.CONTROLS


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--policy", "gold", "--promote", 1), "'--promote': gold is a control"),
        (("--policy", "gold", "--name", "x"), "'--name': a control's attempts are always filed under gold"),
        (("--name", "empty"), "'--name': empty is the name of a control"),
        (("--policy", "empty", "--option", "calls=3"), "'--option': the policy empty takes no options"),
    ],
)
def test_what_solving_refuses(selfplay: Command, tmp_path: Path, options: tuple[object, ...], said: str) -> None:
    done = selfplay.here("solve", tmp_path, *options)
    assert done.code == 2 and f"Invalid value for {said}" in " ".join(done.err.split()), done.err


@pytest.mark.parametrize(
    ("command", "options", "said"),
    [
        ("eval", ("--stored", "--workers", 2), "'--workers': makes no sense with --stored"),
        ("train", ("--plan", "--out", "x"), "'--out': makes no sense with --plan, which starts nothing"),
        ("train", ("--plan", "--sandbox", "docker"), "'--sandbox': makes no sense with --plan"),
        ("train", ("--plan", "--image", "x"), "'--image': makes no sense with --plan"),
        ("train", ("--plan", "--ray-address", "a:1"), "'--ray-address': makes no sense with --plan"),
        (
            "solve",
            ("--policy", "openai:x", "--base-url", "http://a", "--option", "base_url=http://b"),
            "'--base-url': is given twice",
        ),
        (
            "solve",
            ("--policy", "vllm:x", "--option", "seed=1", "--option", "seed=2"),
            "'--option': seed is given twice",
        ),
        ("solve", ("--attempts", "x"), "'--attempts': a whole number is needed, not 'x'"),
        ("solve", ("--attempts", 0), "'--attempts': at least 1 is needed, not '0'"),
        ("grade", (), "give --patch FILE or --world DIR for one bug, or --predictions FILE for a run"),
        ("grade", ("--patch", "x", "--workers", 2), "'--workers': one patch is graded by one worker"),
        ("export", ("--out", "x", "--parquet", "--jsonl"), "'--parquet / --jsonl': give one of them"),
        ("doctor", ("--image", "debian"), "'--image': needs --sandbox docker"),
        ("validate", ("--runtime", "runsc"), "'--runtime': needs --sandbox docker"),
    ],
)
def test_what_others_refuse(
    selfplay: Command, tmp_path: Path, command: str, options: tuple[object, ...], said: str
) -> None:
    place = () if command == "doctor" else (tmp_path,)
    done = selfplay.here(command, *place, *options)
    assert done.code == 2 and said in " ".join(done.err.split()), done.err


def test_what_a_cold_start_refuses(selfplay: Command, tmp_path: Path) -> None:
    done = selfplay.here("sft", tmp_path, "--model", "x", "--out", tmp_path / "out", "--schedule", "linear")
    assert done.code == 2 and "'--schedule': is constant or cosine" in " ".join(done.err.split()), done.err


def test_tokens_are_counted_by_a_tokenizer(selfplay: Command, tmp_path: Path) -> None:
    done = selfplay.here("trajectories", "export", tmp_path, "--out", "x.jsonl", "--most-tokens", 100)
    assert done.code == 2 and "'--most-tokens': needs --tokenizer" in done.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("curriculum", "pypi:none", "--out", ""), "--out"),
        (("curriculum", "pypi:none", "--test", " "), "--test"),
        (("curriculum", "pypi:none", "--allow-host", "a.org", "--allow-host", ""), "--allow-host"),
        (("curriculum", ""), "'source'"),
        (("import", "rows.json", "--out", ""), "--out"),
        (("show", ""), "'path'"),
        (("learn", "", "--model", "m"), "'runs'"),
        (("trajectories", "export", "run", "--out", ""), "--out"),
    ],
)
def test_an_empty_text_is_no_value(selfplay: Command, arguments: tuple[str, ...], named: str) -> None:
    done = selfplay.here(*arguments)
    assert done.code == 2 and "is empty" in done.err and named in done.err, done.err


def test_a_cluster_to_join_needs_one_in_the_configuration(selfplay: Command) -> None:
    done = selfplay.here("train", "tiny_cpu", "--ray-address", "a:1")
    assert done.code == 2 and "'--ray-address': needs `cluster` in the configuration" in " ".join(done.err.split())
