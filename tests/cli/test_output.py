"""What is printed in a pipe is whole: no cell is cut or folded at the width of a terminal that is not there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table

from selfplay.cli.output import print_page
from selfplay.commands.audit import AuditedBug, AuditedBugs
from selfplay.commands.show import SeenRun
from selfplay.oracle.leak_audit.audit import Audit, Finding
from selfplay.report.tables import heading, safe
from selfplay.repository.cache import VARIABLE, why_unusable

LONG = "a/very/long/path/" * 12


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    table = Table(title="Bugs")
    table.add_column("where", overflow="fold")
    table.add_row(safe(LONG))
    print_page(table)
    print_page(heading("bug_inject.diff"))
    return capsys.readouterr().out


def test_a_pipe_gets_whole_cells(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    said = printed(capsys)
    assert not sys.stdout.isatty() and LONG in said
    assert max(len(line) for line in said.splitlines()) < len(LONG) + 10  # nothing is padded to the page's width


def test_columns_is_believed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert all(len(line) <= 60 for line in printed(capsys).splitlines())


def test_a_run_in_its_first_phase_has_every_key_in_its_json() -> None:
    found = SeenRun({"bugs": []}, []).to_json()
    assert found == {"stopped": None, "cost": None, "bugs": []}
    assert SeenRun({"stopped": "enough bugs", "cost": {}}, []).to_json() == {"stopped": "enough bugs", "cost": {}}


@pytest.mark.parametrize(
    ("states", "code"),
    [
        (["clean"], 0),
        (["clean", "not-auditable"], 2),
        (["not-auditable", "leaks", "clean"], 1),
        (["failed", "clean"], 2),
    ],
)
def test_the_worst_world_of_a_run_gives_the_exit_code(states: list[str], code: int) -> None:
    audits = {"clean": Audit(1, ()), "not-auditable": Audit(0, (), reason="no line"), "failed": None}
    audits["leaks"] = Audit(1, (Finding("a.py", "text", 1.0),))
    given = [AuditedBug("a", audits[state], "damaged") for state in states]
    assert AuditedBugs(given, alone=False).exit_code == code


def test_a_cache_that_cannot_be_looked_at_is_named_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the cache of root is for another user whose HOME is root's."""
    assert why_unusable(tmp_path / "new" / "cache") == ""

    def closed(path: Path, **how: object) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "exists", closed)
    cache = tmp_path / "root" / ".cache" / "selfplay"
    assert why_unusable(cache) == (
        f"the cache folder {cache} cannot be used: Permission denied. Set SELFPLAY_CACHE to a folder you can write to."
    )


def test_what_libraries_log_is_not_shown() -> None:
    """`httpx` logs the whole URL of each request, with the password in it."""
    program = (
        "import logging, sys; from selfplay.cli.app import app; sys.argv = ['selfplay', '-v', 'show', '/nowhere'];\n"
        "try: app()\nexcept BaseException: pass\n"
        "logging.getLogger('httpx2').info('S3CRET'); logging.getLogger('selfplay.x').info('told')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert "INFO selfplay.x: told" in done.stderr and "S3CRET" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_a_name_that_the_terminal_has_no_letters_for_is_shown_with_marks(tmp_path: Path, encoding: str) -> None:
    """Also what `printable` puts in the place of a control character is lacking there."""
    (folder := tmp_path / "日本\x1b[31m").mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "selfplay", "doctor", "--sandbox", "bubblewrap"], capture_output=True, timeout=60,
        env={**os.environ, "PYTHONIOENCODING": encoding, VARIABLE: str(folder), "COLUMNS": "300"},
    )  # fmt: skip
    assert b"Traceback" not in done.stderr and b"/???[31m" in done.stdout, done.stdout + done.stderr
