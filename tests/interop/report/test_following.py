"""`--serve` in a real Chromium: a page that follows a run while it grows."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from interop.report.conftest import Opened
from playwright.sync_api import Browser, expect
from report.made_runs import HOSTILE, bug, made_run

from selfplay.commands.report import serve_report
from selfplay.curriculum import Attempt, open_curriculum

pytestmark = pytest.mark.interop


@pytest.fixture
def followed(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    run = made_run(tmp_path / "demo", 3, text=HOSTILE)
    with serve_report(run, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield run, f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


def test_what_is_new_appears_and_details_are_asked_for(browser: Browser, followed: tuple[Path, str]) -> None:
    run, url = followed
    page = browser.new_page()
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    page.goto(url)
    seen = Opened(page)
    seen.ready()
    attempts = page.locator(".tile", has_text="attempts resolved")
    expect(attempts).to_contain_text("2 of 6")
    with open_curriculum(run) as pool:
        pool.attempts.add(Attempt(bug(1).id, "scripted", 9, True, "resolved", "", ""))
        expect(attempts).to_contain_text("3 of 7", timeout=60_000)
    seen.goto(f"#/bug/{bug(1).id}")
    expect(page.locator("td.add").first).to_contain_text("return 1")
    assert page.evaluate("typeof owned") == "undefined"
    assert asked and all(one.startswith(url) for one in asked)
    page.close()
