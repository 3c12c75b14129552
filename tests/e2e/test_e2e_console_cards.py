"""A person's card in a real Chromium: read, pinned and removed after a preview, by keyboard and without scripts."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser import PHONE, Browser, accessible, chromium, fits, screenshot
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
from tests.waiting import WAIT_SECONDS

expect.set_options(timeout=WAIT_SECONDS * 1000)

DESK = {"width": 1200, "height": 760}
PREVIEW = f"/card/line?user=ann&line={CORIANDER}&action=remove"
CORRECT = f"/card/line?user=ann&line={CORIANDER}&action=write"
LOG = "/card/log?user=ann"


@pytest.fixture
def served(tmp_path) -> Iterator[Served]:
    tokens = Tokens(tmp_path)
    with Served(settings_of(tokens, duckdb=published_cards()), console=True) as running:
        running.api.cache._ready.set()
        for user in ("ann", "zoe"):
            follow(running.api.cache, card_of(talks(user)))
        running.api.sender = CardWorker(running)
        running.secret = tokens.make("read-all", "change-user", user="*")  # type: ignore[attr-defined]
        yield running


def open_(page: Page, served: Served, path: str) -> None:
    page.goto(f"http://localhost:{served.port}/console{path}")


def signed_in(browser: Browser, served: Served) -> Page:
    page = browser.page()
    page.goto(f"http://localhost:{served.port}/console/login")
    page.get_by_label("Token", exact=True).fill(served.secret)  # type: ignore[attr-defined]
    page.keyboard.press("Enter")
    page.wait_for_url("**/console/people**")
    return page


@pytest.mark.parametrize("theme", ["light", pytest.param("dark", marks=pytest.mark.thorough)])
def test_each_page_of_a_card_is_accessible_and_fits_a_phone(playwright, served, tmp_path, theme):
    with chromium(playwright, tmp_path / "profile") as browser:
        page = signed_in(browser, served)
        page.emulate_media(color_scheme=theme)
        for path in ("/person?user=ann", "/person?user=zoe", PREVIEW, CORRECT, LOG):
            for size in (PHONE, DESK):
                page.set_viewport_size(size)
                open_(page, served, path)
                if page.locator("#card summary").count():
                    page.locator("#card summary").click()
                accessible(page)
                fits(page)
        screenshot(page, f"card-{theme}")
        browser.is_content()
