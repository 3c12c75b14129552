"""A real Chromium for tests: Debian's, driven by Playwright, which downloads nothing."""

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Playwright, Request

from tests.waiting import WAIT_SECONDS

CHROMIUM = Path(os.environ.get("SAGER_TEST_CHROMIUM", "/usr/bin/chromium"))
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PHONE, DESK = {"width": 360, "height": 780}, {"width": 1280, "height": 860}
LOCAL = ("localhost", "127.0.0.1")
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SCREENSHOTS = Path(__file__).parents[1] / "docs" / "assets" / "console"
COLOURS = 128


class Browser:
    """A browser with a profile of its own, which keeps what pages complain about and whom they ask.

    Attributes:
        context: Playwright's.
        complaints: what the browser wrote to its console and which scripts failed; the page's policy is among that.
        foreign: requests to other hosts.
    """

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.complaints: list[str] = []
        self.foreign: list[str] = []
        context.on("console", self._on_console)
        context.on("request", self._on_request)
        context.on("weberror", lambda error: self.complaints.append(f"script: {error.error}"))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(f"{message.type}: {message.text}")

    def _on_request(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme in ("http", "https", "ws", "wss") and parts.hostname not in LOCAL:
            self.foreign.append(request.url)

    def page(self) -> Page:
        return self.context.pages[0] if self.context.pages else self.context.new_page()

    def is_content(self) -> None:
        """Nothing was complained about and nobody else was asked, since the last time.

        Chromium also writes each answer of 400 and above to its console: tests look at those themselves.
        """
        complaints = [each for each in self.complaints if "the server responded with a status of 4" not in each]
        self.complaints.clear()
        assert not complaints, complaints
        assert not self.foreign, self.foreign


def sign_in(page: Page, link: str) -> None:
    """Open a link of the console and consent: a link alone signs no browser in."""
    page.goto(link)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(lambda url: "/enter" not in url)


@contextmanager
def chromium(playwright: Playwright, folder: Path, **more: object) -> Iterator[Browser]:
    """A browser with an empty profile; skips the test where there is none, unless one is required.

    Args:
        playwright: drives it; there can be but one at a time.
        folder: for the profile; must be new.
        **more: Playwright's options of a context.
    """
    if not CHROMIUM.exists():
        if os.environ.get("SAGER_TEST_REQUIRE_BROWSER"):
            pytest.fail(f"a browser is required here, and {CHROMIUM} is not there")
        pytest.skip(f"{CHROMIUM} is not there: apt install chromium")
    context = playwright.chromium.launch_persistent_context(
        folder,
        executable_path=CHROMIUM,
        args=FLAGS,
        viewport=DESK,
        reduced_motion="reduce",
        locale="en-GB",
        timezone_id="UTC",
        **more,  # type: ignore[arg-type]
    )
    context.set_default_timeout(WAIT_SECONDS * 1000)
    try:
        yield Browser(context)
    finally:
        context.close()


def accessible(page: Page) -> None:
    """The page has no violation that axe-core finds; its contrast is as it is drawn, so call it per theme."""
    found = Axe().run(page)
    told = [
        f"{each['id']}: {each['help']}: " + "; ".join(str(node["target"]) for node in each["nodes"][:4])
        for each in found.response["violations"]
    ]
    assert not told, f"{page.url}: {told}"


def fits(page: Page) -> None:
    assert page.evaluate(WIDER) <= 0, page.url


def screenshot(page: Page, name: str) -> None:
    """A picture for the docs, where they are to be made anew (SAGER_TEST_WRITE_SCREENSHOTS=1)."""
    if os.environ.get("SAGER_TEST_WRITE_SCREENSHOTS"):
        from PIL import Image  # noqa: PLC0415 - comes with matplotlib, and no test needs it

        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        # Without a caret by itself: Playwright would hide one by a style, which the page's policy forbids.
        page.evaluate("document.activeElement?.blur(); scrollTo(0, 0)")
        taken = page.screenshot(animations="disabled", caret="initial")
        # Pages have few colours: a palette takes a third of the bytes.
        Image.open(io.BytesIO(taken)).convert("RGB").quantize(COLOURS).save(SCREENSHOTS / f"{name}.png", optimize=True)
