"""The report in a real Chromium: opened, filtered, expanded, followed along its lineage, by keyboard alone."""

import pytest
from interop.report.conftest import Open
from playwright.sync_api import expect
from report.made_runs import HOSTILE, bug

pytestmark = pytest.mark.interop
PLACES = (
    "#/", "#/bugs", f"#/bug/{bug(0).id}", "#/episodes", "#/episode/demo-1-0-solver.jsonl.zst", "#/training",
    "#/episode/000000-injector.jsonl.zst",
)  # fmt: skip


def test_the_overview_leads_to_the_bugs(open_page: Open, plain: str) -> None:
    seen = open_page(plain)
    expect(seen.page.get_by_role("heading", level=1)).to_have_text("demo")
    expect(seen.page.get_by_role("heading", name="Solve rates")).to_be_visible()
    seen.page.get_by_role("link", name="second-order bugs").click()
    expect(seen.page.get_by_role("status").filter(has_text="1 of 101 bugs")).to_be_visible()


def test_bugs_are_filtered_and_the_filter_stays_in_the_address(open_page: Open, plain: str) -> None:
    """99 bugs were solved by one of two attempts, bug 0 and its child by none."""
    page = open_page(plain).page
    page.get_by_role("navigation", name="Sections").get_by_role("link", name="Bugs").click()
    rows, count = page.locator(".gallery tbody tr"), page.locator("#count")
    expect(count).to_have_text("101 bugs")
    expect(rows).to_have_count(60)
    page.mouse.wheel(0, 20_000)
    expect(rows).to_have_count(101)
    page.get_by_label("Solved", exact=True).select_option("never")
    expect(count).to_have_text("1 of 101 bugs")
    page.get_by_label("Solved", exact=True).select_option("untried")
    expect(rows).to_have_count(1)
    page.get_by_label("Solved", exact=True).select_option("")
    page.get_by_label("Search").fill("part42")
    expect(rows).to_have_count(1)
    page.reload()
    expect(page.get_by_label("Search")).to_have_value("part42")
    expect(rows).to_have_count(1)
    page.get_by_label("Search").fill("nowhere")
    expect(page.get_by_text("No bug fits.")).to_be_visible()


def test_a_bug_is_opened_and_expanded(open_page: Open, plain: str) -> None:
    seen = open_page(plain)
    seen.goto(f"#/bug/{bug(1).id}")
    diff = seen.page.get_by_role("group", name="src/part1.py: original and broken")
    expect(diff.locator("td.del")).to_contain_text("return x")
    expect(diff.locator("td.add")).to_contain_text("return 1")
    expect(diff.locator(".t-k").first).to_have_text("return")
    seen.page.locator(".attempt > summary").first.click()
    expect(seen.page.get_by_role("group", name="src/part1.py: broken and attempted repair")).to_be_visible()
    seen.page.get_by_text("test_parser.py", exact=True).click()
    expect(seen.page.get_by_role("group", name="test_parser.py")).to_contain_text("json.dump(outcomes, sys.stdout)")
    seen.page.get_by_role("link", name="The episode, step by step").click()
    expect(seen.page.get_by_role("heading", level=1)).to_have_text("Solver, attempt 0")
    seen.page.get_by_role("link", name="Its bug").click()
    seen.page.locator("button:visible", has_text="One column").first.click()
    expect(seen.page.locator("table.unified").first).to_be_visible()


def test_lineage_leads_from_a_bug_to_its_child_and_back(open_page: Open, plain: str) -> None:
    seen = open_page(plain)
    seen.goto(f"#/bug/{bug(0).id}")
    tree = seen.page.get_by_role("navigation", name="Lineage")
    expect(tree).to_contain_text("failed attempt 0 of scripted")
    tree.get_by_role("link").click()
    expect(seen.page.get_by_role("heading", name="The failed attempt on top")).to_be_visible()
    seen.page.get_by_role("link", name="its parent").click()
    expect(tree.locator("[aria-current]")).to_contain_text(bug(0).id)


def test_all_of_it_goes_by_keyboard(open_page: Open, plain: str) -> None:
    page = open_page(plain).page
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    page.keyboard.press("b")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("part7")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    focused = page.locator(":focus")
    expect(focused).to_contain_text("part70.py")
    outline = focused.evaluate("node => getComputedStyle(node, '::after').outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("src/part70.py")
    page.keyboard.press("k")
    expect(page.get_by_role("heading", level=1)).to_have_text("src/part7.py")
    page.keyboard.press("u")
    expect(page.locator("table.unified").first).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    expect(page.get_by_role("heading", level=1)).to_have_text("Training")


def test_an_episode_goes_step_by_step(open_page: Open, plain: str) -> None:
    seen = open_page(plain)
    seen.goto("#/episode/000003-injector.jsonl.zst")
    expect(seen.page.locator(".steps > li")).to_have_count(2)
    expect(seen.page.get_by_text("seen", exact=True)).to_be_visible()
    seen.page.keyboard.press("x")
    seen.page.keyboard.press("x")
    expect(seen.page.get_by_text("seen", exact=True)).to_be_hidden()


def test_a_curve_is_read_by_arrows_and_as_a_table(open_page: Open, plain: str) -> None:
    seen = open_page(plain)
    seen.goto("#/training")
    seen.page.get_by_role("img", name="Mean reward by role").focus()
    for key in ("Home", "ArrowRight"):
        seen.page.keyboard.press(key)
    expect(seen.page.locator(".readout").first).to_have_text("step 2: injector -0.125, solver 0.5")
    seen.page.get_by_text("Numbers of Mean reward by role").click()
    table = seen.page.get_by_role("table", name="Mean reward by role")
    expect(table.get_by_role("row")).to_have_count(13)


@pytest.mark.parametrize("place", PLACES)
def test_hostile_texts_stay_inert(open_page: Open, hostile: str, place: str) -> None:
    """That nothing was asked of a network, and that no console complained, is asserted for every page opened."""
    seen = open_page(hostile)
    seen.goto(place)
    for box in seen.page.locator("main details:visible > summary").all():
        box.click()
    if place not in ("#/bugs", "#/episodes"):  # their rows are of names that SQLite and git allow
        expect(seen.page.get_by_role("main")).to_contain_text("<script>owned=1</script>")
    assert seen.page.evaluate("typeof owned") == "undefined"
    assert seen.page.locator("main script, main img, main iframe").count() == 0
    seen.shot(f"hostile-{PLACES.index(place)}")


def test_even_a_script_inside_could_not_act(open_page: Open, plain: str) -> None:
    """What the policy forbids: nodes from text, scripts of others, requests."""
    seen = open_page(plain)
    tried = {
        "markup": "document.body.innerHTML = '<b>x</b>'",
        "a script": "document.body.append(Object.assign(document.createElement('script'), {text: 'owned = 1'}))",
        "text as code": "setTimeout('owned = 1')",
    }
    for what, code in tried.items():
        said = seen.page.evaluate(f"() => {{ try {{ {code}; return '' }} catch (error) {{ return error.name }} }}")
        assert said in ("TypeError", "EvalError"), what
    asked = "fetch('http://127.0.0.1:9/').then(() => 'answered', error => error.name)"
    assert seen.page.evaluate(asked) == "TypeError"
    assert seen.page.evaluate("typeof owned") == "undefined"
    assert seen.wrong and all(
        "Content Security Policy" in said or "TrustedScript" in said or "Trusted" in said for said in seen.wrong
    )
    seen.wrong.clear()
    assert HOSTILE


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("width", [1360, 390])
def test_pictures_of_every_place(open_page: Open, plain: str, colours: str, width: int) -> None:
    """For eyes; what is asserted is that nothing is wider than the window, and that the colours follow the system."""
    seen = open_page(plain, color_scheme=colours, viewport={"width": width, "height": 900})
    light = seen.page.evaluate("parseInt(getComputedStyle(document.documentElement).backgroundColor.slice(4))")
    assert (light > 128) == (colours == "light")
    for number, place in enumerate(PLACES):
        seen.goto(place)
        seen.shot(f"{colours}-{width}-{number}")
        assert seen.page.evaluate("document.documentElement.scrollWidth") <= width, place


def test_the_colours_are_chosen_by_a_button(open_page: Open, plain: str) -> None:
    page = open_page(plain, color_scheme="light").page
    button = page.get_by_role("button", name="Colours: auto")
    button.click()
    page.get_by_role("button", name="Colours: light").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
