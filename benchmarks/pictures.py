"""The README's pictures, from a real run: `make pictures`, or
`.venv-interop/report/bin/python -m benchmarks.pictures RUN`.

Left in `docs/pictures`: the overview in light colours, and a second-order bug in dark ones.
"""

import argparse
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from selfplay.commands.report import ReportOrder, write_report

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"
MOST = 300_000
"""Bytes of a picture."""
WIDTH = 1280


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="a run of both orders")
    run = parser.parse_args().run
    from playwright.sync_api import sync_playwright  # of the environment that `make test-interop-report` makes

    FOLDER.mkdir(exist_ok=True)
    program = os.environ.get("SELFPLAY_CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        url = write_report(ReportOrder(run, Path(name, "page.html")), lambda line: None).as_uri()
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"] if not os.geteuid() else [])
        taken(browser, url, "overview", "light", 860, lambda page: None)
        taken(browser, url, "bug", "dark", 1120, to_a_second_order_bug)  # four siblings, and then the diff
        browser.close()


def taken(browser: Any, url: str, name: str, colours: str, height: int, go: Any) -> None:
    """One picture of what `go` leads to."""
    page = browser.new_page(viewport={"width": WIDTH, "height": height}, color_scheme=colours)
    page.goto(url)
    page.wait_for_selector("html[data-ready]")
    go(page)
    file = FOLDER / f"{name}.png"
    page.screenshot(path=file)
    page.close()
    if (size := file.stat().st_size) > MOST:
        raise SystemExit(f"{file} has {size} bytes; at most {MOST} are taken")
    print(f"{file}: {size} bytes")


def to_a_second_order_bug(page: Any) -> None:
    """The first one of the gallery."""
    page.evaluate("location.hash = '#/bugs?order=2'")
    page.locator(".gallery .row-link").first.click()
    page.wait_for_url(re.compile("#/bug/"))
    page.wait_for_selector("table.diff")


if __name__ == "__main__":
    main()
