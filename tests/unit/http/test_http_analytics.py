"""Named queries for dashboards: the views' rows, bounded, for those who may read about everybody."""

import pytest

from streams.settings import Settings
from tests.analytics_world import published
from tests.unit.http.http_world import Served, Tokens

NAMES = ("people", "learning-curve", "tier-flow", "adoption", "costs", "calibration")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return Tokens(tmp_path_factory.mktemp("analytics"))


@pytest.fixture(scope="module")
def token(file):
    return file.make("read-all")


@pytest.fixture(scope="module")
def api(file, token):
    with Served(Settings(duckdb=published(), http_tokens=file.path, http_rate=1_000, http_burst=1_000)) as served:
        yield served


@pytest.mark.parametrize("name", NAMES)
def test_a_named_query_has_rows_of_one_domain_or_of_all(api, token, name):
    everything = api.ask(f"/v1/analytics/{name}", token).body["rows"]
    films = api.ask(f"/v1/analytics/{name}?domain=films", token).body["rows"]

    # What conversations cost is of no domain.
    assert {row["domain"] for row in everything} - {None} == {"books", "films"}
    assert {row["domain"] for row in films} == {"films"}
    assert len(api.ask(f"/v1/analytics/{name}?limit=2", token).body["rows"]) == 2
    assert api.ask(f"/v1/analytics/{name}?domain=none", token).body["rows"] == []


@pytest.mark.parametrize("name", NAMES)
def test_only_those_who_may_read_about_everybody_ask(api, file, name):
    ann, operator = file.make("read-user", user="ann"), file.make("operate")

    assert api.ask(f"/v1/analytics/{name}").status == 401
    assert api.ask(f"/v1/analytics/{name}", ann).status == 403
    assert api.ask(f"/v1/analytics/{name}", operator).status == 403
