"""The console as a person or their advocate uses it: a real Chromium before a real pipeline."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser import PHONE, Browser, accessible, chromium, fits, screenshot
from tests.console_world import World
from tests.unit.http.http_world import (
    CORIANDER,
    CardWorker,
    Served,
    Tokens,
    card_of,
    follow,
    published_cards,
    settings_of,
    talks,
)
from tests.waiting import WAIT_SECONDS, until

pytestmark = pytest.mark.broker
DESK = {"width": 1200, "height": 760}
BROKEN_WORDS = """table => {
    const broken = [], texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/[\\p{L}\\d]+/gu)) {
        const range = document.createRange();
        range.setStart(texts.currentNode, word.index);
        range.setEnd(texts.currentNode, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map(each => each.top)).size > 1) broken.push(word[0]);
    }
    return broken;
}"""
"""Words of a table that go on in the next line."""

expect.set_options(timeout=WAIT_SECONDS * 1000)


@pytest.fixture
def page(browser: Browser):
    opened = browser.page()
    opened.set_viewport_size(DESK)
    opened.emulate_media(color_scheme="light", media="screen")
    yield opened
    browser.is_content()


def open_(page: Page, world: World, path: str) -> None:
    page.goto(f"{world.url}/console{path}")


@pytest.mark.thorough
def test_erasure_shows_its_reach_and_requires_the_typed_id(page, world):
    open_(page, world, "/person?user=fay")
    page.get_by_role("link", name="Forget…").click()
    expect(page.get_by_text("This erases all of fay: 1 skill, ")).to_be_visible()
    expect(page.get_by_role("heading", name="Erased data")).to_be_visible()
    expect(page.get_by_role("cell", name="topic selections")).to_be_hidden()
    screenshot(page, "forget")
    page.set_viewport_size({"width": 375, "height": 812})
    fits(page)
    page.get_by_text("Records by store").click()
    expect(page.get_by_role("cell", name="topic selections")).to_be_visible()
    fits(page)
    inner = page.locator("details .table-wrap").evaluate("each => each.scrollWidth - each.clientWidth")
    assert inner <= 0, "the table scrolls sideways on a phone"
    assert page.locator("details table").evaluate(BROKEN_WORDS) == []
    page.set_viewport_size(DESK)

    page.get_by_label("Type fay to continue", exact=True).fill("someone")
    page.get_by_role("button", name="Forget everything").click()
    expect(page.get_by_role("alert")).to_contain_text("Nothing was erased")
    page.get_by_label("Type fay to continue", exact=True).fill("fay")
    page.get_by_role("button", name="Forget everything").click()
    expect(page.locator(".notice")).to_contain_text("Erased.")
    until(lambda: world.versions("fay") == 0, "a snapshot without fay")
    open_(page, world, "/people?user=fay")
    expect(page.get_by_text("No id starts like this")).to_be_visible()


def test_all_pages_work_by_keyboard(browser, page, world):
    signed_in = browser.context.cookies()
    browser.context.clear_cookies()
    page.goto(f"{world.url}/console/")
    expect(page.get_by_label("Token", exact=True)).to_be_focused()
    page.keyboard.type(world.token)
    page.keyboard.press("Enter")
    page.wait_for_url("**/people")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    expect(page.get_by_label("Id of a person, or its start", exact=True)).to_be_focused()
    page.keyboard.type("dora")
    page.keyboard.press("Enter")
    page.wait_for_url("**user=dora")
    expect(page.locator("main")).to_be_focused()
    reach(page, "dora")
    page.keyboard.press("Enter")
    page.wait_for_url("**/person?**")
    expect(page.get_by_role("heading", level=1)).to_have_text("dora")
    expect(page.locator("main")).to_be_focused()
    reach(page, "Log")
    page.keyboard.press("Enter")
    page.wait_for_url("**/log?**")
    page.go_back()
    page.wait_for_url("**/person?**")
    expect(page.get_by_role("heading", level=1)).to_have_text("dora")
    page.get_by_role("button", name="Sign out").press("Enter")
    page.wait_for_url("**/login")
    page.go_back()
    expect(page.get_by_label("Token", exact=True)).to_be_visible()
    browser.context.add_cookies(signed_in)


def reach(page: Page, name: str) -> None:
    for _ in range(60):
        page.keyboard.press("Tab")
        focused = page.evaluate("document.activeElement.innerText ?? ''")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        if focused == name:
            return
    raise AssertionError(f"the keyboard does not reach {name}")


PAGES = (
    "/people",
    "/person?user=ann",
    "line",
    "/log?user=ann&domain=films",
    "/forget?user=ann",
    "/person?user=nobody",
    "/nowhere",
)


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.thorough)])
def test_every_page_is_accessible_and_fits_a_phone_and_paper(browser, world, theme):
    page = browser.page()
    page.emulate_media(color_scheme=theme)
    open_(page, world, "/person?user=ann")
    line = page.locator(".line-what a").first.get_attribute("href").removeprefix("/console")
    for path in PAGES:
        for size in (PHONE, DESK):
            page.set_viewport_size(size)
            open_(page, world, line if path == "line" else path)
            accessible(page)
            fits(page)
            if path == "/person?user=ann" and size is PHONE:
                screenshot(page, f"person-phone-{theme}")
        if path == "/person?user=ann":
            screenshot(page, "person-dark" if theme == "dark" else "person")
    page.emulate_media(media="print")
    open_(page, world, "/person?user=ann")
    expect(page.locator(".side")).to_be_hidden()
    page.emulate_media(media="screen")
    browser.is_content()


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.thorough)])
def test_every_page_of_a_card_is_accessible_and_fits_a_phone(playwright, tmp_path, theme):
    tokens = Tokens(tmp_path)
    settings = settings_of(tokens, duckdb=published_cards())
    with Served(settings, console=True) as served, chromium(playwright, tmp_path / "profile") as browser:
        served.api.cache.is_ready = True
        for user in ("ann", "zoe"):
            follow(served.api.cache, card_of(talks(user)))
        served.api.sender = CardWorker(served)
        page = browser.page()
        page.emulate_media(color_scheme=theme)
        console = f"http://localhost:{served.port}/console"
        page.goto(f"{console}/login")
        page.get_by_label("Token", exact=True).fill(tokens.make("read-all", "change-user", user="*"))
        page.keyboard.press("Enter")
        page.wait_for_url("**/people**")
        line = f"/card/line?user=ann&line={CORIANDER}"
        for path in (
            "/person?user=ann",
            "/person?user=zoe",
            f"{line}&action=remove",
            f"{line}&action=write",
            "/card/log?user=ann",
        ):
            for size in (PHONE, DESK):
                page.set_viewport_size(size)
                page.goto(f"{console}{path}")
                if page.locator("#card summary").count():
                    page.locator("#card summary").click()
                accessible(page)
                fits(page)
        screenshot(page, f"card-{theme}")
        browser.is_content()
