"""What a user may point the command at by mistake or by malice: a message that says what to do, and nothing lost."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import tiny_repository
from run_fixtures import Command

Source = Callable[..., Path]


def run(selfplay: Command, source: object, out: Path, *options: object) -> tuple[int, str, dict[str, object]]:
    """Exit code, standard error, and the summary when there is one."""
    done = selfplay("curriculum", source, "--out", out, "--bugs", 1, "--strategy", "removal", *options)
    assert "Traceback" not in done.err, done.err
    path = out / "summary.json"
    return done.code, done.err, json.loads(path.read_text()) if path.is_file() else {}


def test_a_strategy_that_does_not_exist(selfplay: Command, tmp_path: Path) -> None:
    code, said, _ = run(selfplay, tmp_path, tmp_path / "out", "--strategy", "magic")
    assert code == 2
    assert said == (
        "selfplay: there is no strategy 'magic'\n  The strategies are removal, history, direct, feature, mix.\n"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("option", [("--bugs", 0), ("--min-files", 0), ("--min-passing", "many"), ("--workers", 0)])
def test_numbers_that_are_none(selfplay: Command, tmp_path: Path, option: tuple[str, object]) -> None:
    done = selfplay.here("curriculum", tmp_path, "--out", tmp_path / "out", *option)
    assert done.code == 2 and option[0] in done.err and not (tmp_path / "out").exists()


@pytest.mark.long
def test_a_mistyped_source_may_be_mended_in_the_same_folder(selfplay: Command, shop: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code, said, _ = run(selfplay, tmp_path / "nowhere", out)
    assert code == 2 and said.startswith("selfplay: ") and "nowhere" in said
    code, said, summary = run(selfplay, shop, out)
    assert code == 0 and summary["wanted"] == 1, said


@pytest.mark.slow
def test_an_out_folder_that_is_somebody_elses(selfplay: Command, shop: Path, tmp_path: Path) -> None:
    (tmp_path / "bugs" / "mine").mkdir(parents=True)
    code, said, _ = run(selfplay, shop, tmp_path)
    assert code == 2 and "it is not a run's folder" in said and (tmp_path / "bugs" / "mine").is_dir()


@pytest.mark.slow
def test_an_out_folder_inside_a_plain_source_would_change_it(selfplay: Command, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("x = 1\n")
    code, said, _ = run(selfplay, tmp_path, tmp_path / "out")
    assert code == 2 and said == (
        f"selfplay: {tmp_path}/out lies inside the source {tmp_path}\n  Give an --out outside of it.\n"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_language_the_script_does_not_know(selfplay: Command, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "Cargo.toml").write_text('[package]\nname = "shop"\nversion = "1.0.0"\n')
    code, said, _ = run(selfplay, tmp_path / "shop", tmp_path / "out")
    assert code == 2 and "holds code in rust, and the scripted injector knows python, javascript, go alone" in said


@pytest.mark.slow
def test_no_tests(selfplay: Command, source: Source, tmp_path: Path) -> None:
    files = {name: text for name, text in tiny_repository.FILES.items() if not name.startswith("tests/")}
    code, said, _ = run(selfplay, source(files), tmp_path / "out")
    assert code == 2 and "the tests do not run: 0 are collected" in said
    assert "--setup" in said and "--test" in said


@pytest.mark.long
def test_no_test_passes(selfplay: Command, source: Source, tmp_path: Path) -> None:
    files = {**tiny_repository.FILES, "conftest.py": "def pytest_runtest_call(item):\n    assert 0\n"}
    code, said, _ = run(selfplay, source(files), tmp_path / "out")
    assert code == 2 and "pass" in said


HOSTILE = """
import os, socket, subprocess, sys, time
from pathlib import Path


def test_hangs():
    time.sleep(10_000)


def test_forks():
    for _ in range(3):
        subprocess.Popen([sys.executable, "-c", "import time; time.sleep(10_000)"], start_new_session=True)


def test_floods():
    for _ in range(2_000):
        os.write(1, b"x" * 65536)


def test_fills_the_disk():
    with open("/tmp/big", "wb") as stream:
        while True:
            stream.write(b"x" * (1 << 24))


def test_opens_the_network():
    socket.create_connection(("192.0.2.1", 80), timeout=5)


def test_writes_outside():
    Path("/usr/owned").write_text("")
"""


@pytest.mark.long
def test_hostile_tests_are_left_out_and_said(selfplay: Command, source: Source, tmp_path: Path) -> None:
    """What hangs, fills the disk or wants the network fails at HEAD; the bug is made with the others."""
    project = source({**tiny_repository.FILES, "tests/test_hostile.py": HOSTILE})
    code, said, summary = run(selfplay, project, tmp_path / "out")
    assert code == 0, said
    suite = summary["suite"]
    assert isinstance(suite, dict)
    left_out = {test.split("::")[-1] for test in suite["failing_at_head"] + suite["flaky_at_head"]}
    if "tests/test_hostile.py" not in suite["left_out_files"]:
        assert left_out >= {"test_hangs", "test_fills_the_disk", "test_opens_the_network", "test_writes_outside"}
    assert not Path("/usr/owned").exists()


@pytest.mark.long
def test_a_test_that_deletes_the_tree(selfplay: Command, source: Source, tmp_path: Path) -> None:
    deletes = "import shutil\n\n\ndef test_deletes():\n    shutil.rmtree('.', ignore_errors=True)\n"
    project = source({**tiny_repository.FILES, "tests/test_zz.py": deletes})
    code, said, summary = run(selfplay, project, tmp_path / "out")
    assert code in (0, 1), said
    assert (project / "tinyshop" / "prices.py").is_file() and summary["suite"]


@pytest.mark.long
@pytest.mark.timeout(600)
def test_strange_names_and_contents(selfplay: Command, source: Source, tmp_path: Path) -> None:
    """A path with spaces and umlauts, a source that is not UTF-8, a link out of the tree, a dirty checkout."""
    project = source(tiny_repository.FILES, name="mein Läden ☃")
    (project / "tinyshop" / "latin.py").write_bytes(b"# -*- coding: latin-1 -*-\nNAME = '\xe9'\n")
    (project / "tinyshop" / "secret.txt").symlink_to("/etc/passwd")
    tiny_repository.git(project, "add", "--all")
    tiny_repository.git(project, "commit", "--quiet", "--message", "strange")
    (project / "tinyshop" / "prices.py").write_text("broken(")
    out = tmp_path / "aus gabe ☃"
    code, said, summary = run(selfplay, project, out)
    assert code == 0, said
    notes = "\n".join(str(note) for note in summary["notes"])  # type: ignore[attr-defined]
    assert "uncommitted" in notes and "secret.txt" in notes
    assert not (out / "original" / "tinyshop" / "secret.txt").exists()
    assert (out / "original" / "tinyshop" / "latin.py").read_bytes().endswith(b"'\xe9'\n")
    assert selfplay("validate", out).code == 0
