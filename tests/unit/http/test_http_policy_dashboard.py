"""The dashboard *Policies*: of Grafana's schema, and every request of it asked of a real API over a real snapshot."""

import json
import re
import warnings
from collections.abc import Iterator
from itertools import combinations
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from streams.settings import Settings
from tests.analytics_world import published
from tests.contract.test_contract_dashboards import PEOPLE, overlap
from tests.dashboards import ROOT, panels
from tests.unit.http.http_world import Served, Tokens

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)
    from grafana_foundation_sdk.cog import plugins
    from grafana_foundation_sdk.cog.encoder import JSONEncoder
    from grafana_foundation_sdk.models.dashboard import Dashboard

BOARD = json.loads((PEOPLE / "policy.json").read_text(encoding="utf-8"))
SOURCE = {"type": "yesoreyeram-infinity-datasource", "uid": "${datasource}"}
PROVISIONING = ROOT / "infra" / "grafana" / "people" / "provisioning"
CHOSEN = {"domain": "films", "user": "person-004"}
"""Who has said something, so that no panel is empty."""


def variables() -> Iterator[tuple[str, dict[str, Any]]]:
    for each in BOARD["templating"]["list"]:
        if each["type"] == "query":
            yield each["name"], each["query"]["infinityQuery"]


def filled(url: str, values: dict[str, str]) -> str:
    """As Grafana does: each variable percent-encoded, which is what the URL asks for."""
    for name, value in values.items():
        url = url.replace(f"${{{name}:percentencode}}", quote(value, safe=""))
    assert "$" not in url, f"a variable without a value: {url}"
    return url


class Infinity:
    """Takes rows out of an answer as the data source does, for the plain selectors that the dashboard has."""

    def __init__(self, api: Served, token: str) -> None:
        self._api, self._token = api, token

    def rows(self, asked: dict[str, Any], values: dict[str, str]) -> list[dict[str, Any]]:
        reply = self._api.ask(filled(asked["url"], values), self._token)
        assert reply.status == 200, f"{asked['url']}: {reply.text}"
        found = reply.body[asked["root_selector"]]
        return [{column["text"]: row[column["selector"]] for column in asked["columns"]} for row in found]


@pytest.fixture(scope="module")
def infinity(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Infinity]:
    file = Tokens(tmp_path_factory.mktemp("grafana"))
    token = file.make("read-all")
    with Served(Settings(duckdb=published(), http_tokens=file.path, http_rate=1_000, http_burst=1_000)) as api:
        yield Infinity(api, token)


def test_grafanas_types_know_every_key() -> None:
    plugins.register_default_plugins()
    again = json.loads(json.dumps(Dashboard.from_json(BOARD), cls=JSONEncoder))
    for each in again["links"]:
        assert each.pop("placement") == "inControlsMenu", "what they fill in, and we leave out"

    assert again == BOARD


def test_every_panel_says_what_it_shows_and_has_its_place() -> None:
    places = [panel["gridPos"] for panel in BOARD["panels"]]

    assert all(len(panel["description"]) > 40 for panel in panels(BOARD))
    assert all(panel["datasource"] == SOURCE and panel["targets"][0]["datasource"] == SOURCE for panel in panels(BOARD))
    assert len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    assert len({panel["title"] for panel in panels(BOARD)}) == len(panels(BOARD))
    assert not [pair for pair in combinations(places, 2) if overlap(*pair)]
    assert BOARD["editable"] is False
    names = {each["name"] for each in BOARD["templating"]["list"]}
    assert set(re.findall(r"\$\{(\w+)", json.dumps(BOARD))) == names


def test_every_request_has_rows_with_the_columns_that_it_names(infinity: Infinity) -> None:
    values: dict[str, str] = {}
    for name, asked in variables():
        found = [row[asked["columns"][0]["text"]] for row in infinity.rows(asked, values)]
        assert found, f"no values for ${name}"
        assert CHOSEN.get(name, found[0]) in found
        values[name] = CHOSEN.get(name, found[0])

    for panel in panels(BOARD):
        (asked,) = panel["targets"]
        rows = infinity.rows(asked, values)
        assert rows, panel["title"]
        for column in asked["columns"]:
            of_column = [row[column["text"]] for row in rows if row[column["text"]] is not None]
            assert of_column, f"{panel['title']}: nothing in {column['text']}"
            wanted = (int, float) if column["type"] == "number" else str
            assert all(isinstance(value, wanted) for value in of_column), f"{panel['title']}: {column['text']}"
        if panel["type"] != "table":
            assert panel["options"]["xField"] in rows[0]


def test_grafana_is_told_where_the_api_is_and_nothing_secret_is_in_a_file() -> None:
    (source,) = yaml.safe_load((PROVISIONING / "datasources" / "sager.yml").read_text())["datasources"]
    (provider,) = yaml.safe_load((PROVISIONING / "dashboards" / "sager.yml").read_text())["providers"]

    assert source["type"] == SOURCE["type"]
    assert source["jsonData"]["auth_method"] == "bearerToken"
    assert source["secureJsonData"] == {"bearerToken": "$GRAFANA_SAGER_TOKEN"}
    assert source["jsonData"]["allowedHosts"] == [source["url"]]
    assert provider["allowUiUpdates"] is False
    assert (
        "people" not in (ROOT / "docker-compose.yml").read_text().partition("\n  grafana:")[2].partition("\n  llm:")[0]
    )
