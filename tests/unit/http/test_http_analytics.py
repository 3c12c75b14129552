"""Named queries for dashboards: the views' rows, bounded, for those who may read about everybody."""

import pytest

from streams.materializer import read
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


def test_the_rows_are_those_of_the_view(api, token):
    rows = api.ask("/v1/analytics/tier-flow?domain=films&weeks=520", token).body["rows"]
    with read.connect(Settings(duckdb=published())) as con:
        [(total,)] = con.execute("SELECT sum(value) FROM tier_flow WHERE domain = 'films'").fetchall()

    assert sum(row["value"] for row in rows) == total
    newest = api.ask("/v1/analytics/tier-flow?domain=films&weeks=1", token).body["rows"]
    assert 0 < sum(row["value"] for row in newest) < total


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "limit=x", "domain=a&domain=b", "sql=SELECT%201"])
def test_parameters_are_bounded_and_known(api, token, query):
    assert api.ask(f"/v1/analytics/learning-curve?{query}", token).status == 422


@pytest.mark.parametrize("name", NAMES)
def test_only_those_who_may_read_about_everybody_ask(api, file, name):
    ann, operator = file.make("read-user", user="ann"), file.make("operate")

    assert api.ask(f"/v1/analytics/{name}").status == 401
    assert api.ask(f"/v1/analytics/{name}", ann).status == 403
    assert api.ask(f"/v1/analytics/{name}", operator).status == 403
