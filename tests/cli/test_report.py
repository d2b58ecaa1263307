"""`selfplay report` as it is typed: where the page goes, what makes no sense together, and serving until Ctrl-C."""

import http.client
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from report.made_runs import made_run
from run_fixtures import Command


def test_the_page_lies_in_the_run_or_where_it_is_asked_for(selfplay: Command, tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", 1)
    done = selfplay.here("report", run)
    assert done.code == 0 and f"{run / 'report.html'} (0.1 MB): open it in a browser" in done.out
    assert selfplay.here("report", run, "--out", tmp_path / "new" / "page.html").code == 0
    assert (tmp_path / "new" / "page.html").read_bytes() == (run / "report.html").read_bytes()
    assert "bugs: 2 of 2" in done.err


@pytest.mark.parametrize(
    "options",
    [("--serve", "--out", "x.html"), ("--serve", "--size", 3), ("--port", 80), ("--size", 0),
     ("--serve", "--port", 99999)],
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(selfplay: Command, tmp_path: Path, options: tuple[object, ...]) -> None:
    done = selfplay.here("report", tmp_path, *options)
    assert done.code == 2 and not list(tmp_path.iterdir())


def test_a_folder_that_is_no_run_and_one_for_the_page_are_told_in_a_line(selfplay: Command, tmp_path: Path) -> None:
    for arguments in ([tmp_path], [made_run(tmp_path / "run", 1), "--out", tmp_path], [tmp_path, "--serve"]):
        done = selfplay.here("report", *arguments)
        assert done.code == 2 and "selfplay: " in done.err and "Traceback" not in done.err


def test_it_serves_until_it_is_interrupted(selfplay: Command, tmp_path: Path) -> None:
    run = made_run(tmp_path / "run", 1)
    argv = [sys.executable, "-m", "selfplay", "report", str(run), "--serve", "--port", "0"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, env={**os.environ, **selfplay.env}) as process:
        try:
            assert process.stdout is not None
            port = int(process.stdout.readline().split("127.0.0.1:")[1].split("/")[0])
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request("GET", "/")
            assert connection.getresponse().status == 200
            process.send_signal(signal.SIGINT)
            assert "the run was only read" in process.stdout.read() and process.wait() == 0
        finally:
            process.kill()
