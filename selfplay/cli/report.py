"""`selfplay report`: a run as an HTML page, or served while it continues."""

from pathlib import Path
from typing import Annotated

import typer

from selfplay.cli.app import app
from selfplay.cli.conflicts import refuse
from selfplay.cli.output import print_line

MB = 1_000_000
PORT = 8137


@app.command()
def report(
    run_dir: Annotated[Path, typer.Argument(help="A run's folder.")],
    out: Annotated[Path | None, typer.Option(help="The file to write (default: report.html in the run).")] = None,
    size: Annotated[int | None, typer.Option(min=1, max=500, help="MB of the file, at most; 15 if not given.")] = None,
    serve: Annotated[bool, typer.Option("--serve", help="Serve the page on this machine and follow the run.")] = False,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="With --serve; 8137 if not given.")] = None,
) -> None:
    """Write a run as one HTML file that needs no network: figures, every bug with its diffs, checks and attempts, its
    episodes step by step, the curves of a training run. --serve follows a running one. The run is not changed."""
    refuse(serve and out is not None, "--out", "makes no sense with --serve, which writes no file")
    refuse(serve and size is not None, "--size", "makes no sense with --serve, which loads pages on demand")
    refuse(port is not None and not serve, "--port", "needs --serve")
    if serve:
        _serve(run_dir, PORT if port is None else port)
        return
    from selfplay.commands.report import ReportOrder, write_report
    from selfplay.report.progress import LiveWatcher

    with LiveWatcher("writing the page") as watcher:
        file = write_report(ReportOrder(run_dir, out, (size or 15) * MB), watcher.say)
    print_line(f"{file} ({file.stat().st_size / MB:.1f} MB): open it in a browser")


def _serve(run_dir: Path, port: int) -> None:
    from selfplay.commands.report import serve_report
    from selfplay.curriculum.reading_bounds import bounded_memory

    with bounded_memory([run_dir]), serve_report(run_dir, port) as server:
        print_line(f"http://127.0.0.1:{server.server_address[1]}/ shows {run_dir}; Ctrl-C ends it")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print_line("ended; the run was only read")
