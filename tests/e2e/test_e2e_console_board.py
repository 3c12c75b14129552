"""The console as operators and analysts use it: a real Chromium, over weeks of a small deployment."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Page, expect

from schemas import Ranking
from streams.http import tokens
from streams.kafka.clients import producer_config
from streams.settings import Settings
from tests.analytics_world import published
from tests.browser import Browser, accessible, screenshot, sign_in
from tests.unit.http.http_world import Served
from tests.waiting import WAIT_SECONDS, until

pytestmark = pytest.mark.broker

expect.set_options(timeout=WAIT_SECONDS * 1000)


@dataclass
class Board:
    url: str
    browser: Browser


@pytest.fixture(scope="module")
def board(browser, tmp_path_factory) -> Iterator[Board]:
    folder = tmp_path_factory.mktemp("board")
    shutil.copy(published(), folder / "sager.duckdb")
    _, token = tokens.new_token("operator", ["operate", "read-all"], None, None)
    (folder / "tokens.toml").write_text(tokens.token_toml(token))
    (folder / "tokens.toml").chmod(0o600)
    settings = Settings(data_dir=folder, http_tokens=folder / "tokens.toml", http_rate=1_000, http_burst=1_000)
    with Served(settings, console=True) as served:
        # Another name than the shared deployment's: cookies do not tell ports apart.
        url = f"http://127.0.0.1:{served.port}"
        page = browser.page()
        sign_in(page, f"{url}/console/enter?code={served.console.sessions.code(token.sha256)}")
        yield Board(f"{url}/console", browser)


@pytest.fixture
def page(board) -> Iterator[Page]:
    opened = board.browser.page()
    opened.set_viewport_size({"width": 1280, "height": 860})
    opened.emulate_media(color_scheme="light", media="screen")
    yield opened
    board.browser.is_content()


def open_(page: Page, board: Board, path: str) -> None:
    page.goto(f"{board.url}/{path}")


def test_a_query_is_written_and_run_by_keyboard(page, board):
    open_(page, board, "query")
    page.get_by_role("button", name="attribute_adoption").click()
    box = page.get_by_label("SQL", exact=True)
    expect(box).to_have_value("FROM attribute_adoption LIMIT 100")
    box.fill("SELECT week, domain, avg(hit_at_3) AS hits FROM arm_results GROUP BY ALL ORDER BY ALL")
    box.press("Control+Enter")
    expect(page.locator(".result thead th")).to_have_text(["week", "domain", "hits"])
    assert page.locator(".result tbody tr").count() > 5
    assert box.input_value().startswith("SELECT week")
    assert "query=" not in page.url
    accessible(page)
    screenshot(page, "query")
    box.fill("SELECT length(repeat('x', 4000000000))")
    page.get_by_role("button", name="Run").click()
    expect(page.get_by_role("alert")).to_contain_text("memory")
    assert board.browser.complaints == [
        "error: Failed to load resource: the server responded with a status of 400 (Bad Request)"
    ]
    board.browser.complaints.clear()


@pytest.mark.thorough
def test_a_dead_letter_is_opened_and_replayed(world, browser):
    """Before a real pipeline: a ranking that no stage can read is refused, and is refused again."""
    from confluent_kafka import Producer  # noqa: PLC0415 - where there is a broker

    producer = Producer(producer_config(world.local.settings))
    topic = world.local.settings.topic(Ranking.TOPIC)
    producer.produce(topic, key=b"zoe", value=b'{"event_id": "<script>alert(1)</script>", \x1b')
    assert producer.flush(WAIT_SECONDS) == 0
    page = browser.page()
    page.set_viewport_size({"width": 1280, "height": 860})

    def refused() -> int:
        page.goto(f"{world.url}/console/letters")
        return page.locator(".letters tbody tr").count()

    until(lambda: refused() >= 1, "the record to be refused")
    before = refused()
    screenshot(page, "letters")
    accessible(page)
    page.locator(".letters tbody a").first.click()
    expect(page.get_by_label("Value as text", exact=True)).to_contain_text("<script>alert(1)</script>")
    accessible(page)
    page.get_by_role("button", name="Send it again").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Send 1 record again?")
    accessible(page)
    page.get_by_role("button", name="Send 1 again").click()
    expect(page.locator(".notice")).to_contain_text("1 record was sent again.")
    until(lambda: refused() > before, "it to be refused once more")
    expect(page.get_by_text("sent again", exact=True).first).to_be_visible()
    assert re.search(r"\b1 of them sent again", page.locator("main").inner_text())
    browser.is_content()
