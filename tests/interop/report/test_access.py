"""What a screen reader finds: axe-core's rules (WCAG 2.2 A and AA) on every place, in both colours."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from interop.report.conftest import Open
from interop.report.test_browser import PLACES

pytestmark = pytest.mark.interop
RULES = {
    "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
}


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("place", PLACES)
def test_no_rule_is_broken(open_page: Open, plain: str, place: str, colours: str) -> None:
    seen = open_page(plain, color_scheme=colours, bypass_csp=True)
    seen.goto(place)
    for box in seen.page.locator("main details:visible > summary").all():
        box.click()
    found = Axe().run(seen.page, options=RULES).response["violations"]
    told = [
        f"{one['id']}: {node['html'][:200]} {node['failureSummary'][:300]}" for one in found for node in one["nodes"]
    ]
    assert not told, "\n".join(told[:20])
