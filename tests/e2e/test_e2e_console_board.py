"""The console as operators use it: a real Chromium, before a real pipeline."""

import re

import pytest
from playwright.sync_api import expect

from schemas import Ranking
from streams.kafka.clients import producer_config
from tests.browser import accessible, screenshot
from tests.waiting import WAIT_SECONDS, until

pytestmark = pytest.mark.broker

expect.set_options(timeout=WAIT_SECONDS * 1000)


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
