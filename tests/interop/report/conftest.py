"""A real Chromium, driven by Playwright: `make test-interop-report`. Screenshots are left in `build/screenshots`."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright
from report.made_runs import HOSTILE, made_run, with_metrics
from report.test_training import STEP

from selfplay.commands.report import ReportOrder, write_report

SCREENSHOTS = Path(__file__).parents[3] / "build" / "screenshots"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, or the one that SELFPLAY_CHROMIUM names. Without one these tests fail: they are asked for."""
    program = os.environ.get("SELFPLAY_CHROMIUM") or shutil.which("chromium")
    assert program, "install Chromium (apt-get install chromium), or name one in SELFPLAY_CHROMIUM"
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=program, args=options)
        yield found
        found.close()


@dataclass
class Opened:
    """A page in the browser. `asked`: every request but the page's own; `wrong`: what its console complained about."""

    page: Page
    asked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def goto(self, place: str) -> None:
        """Show a place of the page, and wait until it is drawn."""
        self.page.evaluate("() => document.documentElement.removeAttribute('data-ready')")
        self.page.evaluate("place => { location.hash = place }", place)
        self.ready()

    def ready(self) -> None:
        self.page.wait_for_selector("html[data-ready]")

    def shot(self, name: str) -> None:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)


Open = Callable[..., Opened]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens an address in a context of its own. When the test is over nothing may have been asked of a network, and
    nothing complained, unless the test takes it out of the lists."""
    opened: list[Opened] = []

    def opening(url: str, **options: object) -> Opened:
        context = browser.new_context(**{"viewport": {"width": 1360, "height": 900}, **options})  # type: ignore[arg-type]
        found = Opened(context.new_page())
        found.page.on("request", lambda one: found.asked.append(one.url) if one.url.split("#")[0] != url else None)
        found.page.on("console", lambda said: found.wrong.append(said.text) if said.type == "error" else None)
        found.page.on("pageerror", lambda error: found.wrong.append(str(error)))
        found.page.on("dialog", lambda dialog: (found.wrong.append(dialog.message), dialog.dismiss()))
        found.page.goto(url)
        found.ready()
        opened.append(found)
        return found

    yield opening
    for one in opened:
        one.page.context.close()
    assert [(one.asked, one.wrong) for one in opened] == [([], [])] * len(opened)


def written(run: Path) -> str:
    """The address of the run's page."""
    return write_report(ReportOrder(run), print).as_uri()


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run of a hundred bugs that was trained on, too."""
    return written(with_metrics(made_run(tmp_path_factory.mktemp("plain") / "demo", 100), 12, STEP))


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run whose every text would run, were it HTML or JavaScript."""
    step = {**STEP, "nothing": HOSTILE, "rollouts": {"injector": {"checks": {HOSTILE: 1}, "outcomes": {HOSTILE: 1}}}}
    run = with_metrics(made_run(tmp_path_factory.mktemp("hostile") / "demo", 3, text=HOSTILE), 2, step)
    (run / "summary.json").write_text(json.dumps({"notes": [HOSTILE], "stopped": HOSTILE}))
    return written(run)
