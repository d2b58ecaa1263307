"""What `selfplay report` does: a run's page as a file, or served while the run goes on. Nothing in the run changes."""

from dataclasses import dataclass
from pathlib import Path

from selfplay.artifact.files import make_folder, write_atomically
from selfplay.curriculum import read_pool
from selfplay.curriculum.reading_bounds import bounded_reading
from selfplay.errors import SelfplayError, in_words
from selfplay.formatting import Say
from selfplay.local_server import LocalServer
from selfplay.owned_folders import FolderOfAnother, refuse_place_of_another, rights_of
from selfplay.report.html.building import build
from selfplay.report.html.serving import open_server

NAME = "report.html"


class ReportError(SelfplayError):
    """A page that cannot be written or served."""


@dataclass(frozen=True)
class ReportOrder:
    """`out`: the file; `report.html` in the run's folder if None. `most`: bytes of it."""

    run: Path
    out: Path | None = None
    most: int = 15_000_000


def write_report(order: ReportOrder, say: Say) -> Path:
    """Write the page of a run atomically. Raises `SelfplayError`."""
    out = order.out or order.run / NAME
    if out.is_dir():
        raise ReportError(f"{out} is a folder", "Name a file with --out.")
    if order.out is None:
        _refuse_run_of_another(order.run)
    page = bounded_reading([order.run], lambda: _page(order, say))
    make_folder(out.parent)
    write_atomically(out, page.encode(), rights_of(order.run))
    return out


def _refuse_run_of_another(run: Path) -> None:
    try:
        refuse_place_of_another(run)
    except FolderOfAnother as error:
        raise ReportError(error.message, "Name a file of your own with --out.") from error


def _page(order: ReportOrder, say: Say) -> str:
    with read_pool(order.run) as pool:
        return build(pool, order.most, say)


def serve_report(run: Path, port: int) -> LocalServer:
    """A server of the run's page; its owner starts and closes it. Raises `SelfplayError`."""
    try:
        return open_server(run, port)
    except (OSError, OverflowError) as error:
        raise ReportError(
            f"port {port} cannot be used: {in_words(error)}", "Give another --port; 0 takes any."
        ) from error
