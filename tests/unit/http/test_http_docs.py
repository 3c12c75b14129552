"""The page that shows the API's document: without a token, from this host alone, under a strict policy."""

import json
import re
from pathlib import Path

import pytest
from streams.http.routes import docs

from streams.http.document import document
from streams.settings import Settings
from tests.unit.http.http_world import Served, Tokens, published

CHROMIUM = Path("/usr/bin/chromium")


@pytest.fixture(scope="module")
def api(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs")
    tokens = Tokens(folder)
    settings = Settings(duckdb=published(), http_tokens=tokens.path, data_dir=folder, http_rate=1_000, http_burst=1_000)
    with Served(settings) as served:
        yield served


def test_the_document_needs_no_token_and_is_the_exported_one(api):
    reply = api.ask("/openapi.json")

    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
    assert reply.body == json.loads(json.dumps(document()))


def test_who_has_it_already_is_told_so(api):
    reply = api.ask("/openapi.json")
    again = api.ask("/openapi.json", **{"If-None-Match": reply.headers["etag"]})

    assert (again.status, again.text) == (304, "")


def test_every_part_of_the_page_comes_from_here(api):
    page = api.ask("/docs")

    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in page.headers["content-security-policy"]
    parts = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert len(parts) == 6
    for part in parts:
        assert part.startswith("/"), part
        reply = api.ask(part)
        assert (reply.status, reply.headers["x-content-type-options"]) == (200, "nosniff"), part
    assert "<script>" not in page.text
    assert "style=" not in page.text


@pytest.mark.parametrize("path", ["/docs/", "/docs/LICENSE", "/docs/..", "/docs/%2e%2e/app.py", "/docs/docs.js/x"])
def test_nothing_else_is_there_for_strangers(api, path):
    assert api.ask(path).status == 401


def test_the_licence_of_what_is_shipped_is_shipped_too():
    names = {file.name for file in docs.STATIC.iterdir()}

    assert names >= {"swagger-ui.LICENSE", "swagger-ui.NOTICE", "swagger-ui-bundle.js.LICENSE.txt", *docs.KINDS}


@pytest.mark.skipif(not CHROMIUM.exists(), reason="there is no Chromium")
def test_a_browser_shows_every_request_and_complains_of_nothing(api):
    playwright = pytest.importorskip("playwright.sync_api")
    operations = sum(len(each) for each in document()["paths"].values())
    told, asked = [], []
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page()
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"http://127.0.0.1:{api.port}/docs")
        page.wait_for_selector(".opblock")
        shown = page.locator(".opblock").count()
        page.locator(".opblock-summary-control").first.click()
        page.wait_for_selector(".opblock-body")
        browser.close()

    assert shown == operations
    assert told == []
    assert [url for url in asked if not url.startswith((f"http://127.0.0.1:{api.port}/", "data:"))] == []
