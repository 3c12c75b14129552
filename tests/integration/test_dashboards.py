"""The truth of the dashboards: a real Prometheus scrapes a real worker under load and answers every query."""

import math
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from schemas import Contrast, WeightAction, WeightCommand
from streams.http import tokens
from streams.kafka.events import EventOutbox
from streams.local.broker import free_port
from tests import probes
from tests.dashboards import RULES, Asked, dashboards, filled, of_alerts, of_annotations, of_panels, variables
from tests.harness import Harness
from tests.openai_server import Act, Do, OpenAiServer, threaded
from tests.probes import is_ready
from tests.prometheus import Prometheus
from tests.worlds import slate

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

CHOICES, PER_SECOND = 235, 60
"""More than the 200 of one domain without which nothing is said of its hit rate."""
FIRST = 8
SIGNALS = ("liked", "skipped", "returned", "shared")
"""The last is of no kind that is configured."""
REFUSED, ASKED = 20, 100
RANGES = {"__rate_interval": "10s", "window": "1h"}
"""What Grafana would fill in: four times the interval between scrapes, at least, and the variable's default."""


@dataclass(frozen=True)
class Answer:
    """What came back for a query: how many series had a value."""

    asked: Asked
    series: int


class Choices:
    """Load for every series there is: choices of two domains and three arms, questions, pasts, and rubbish."""

    def __init__(self, harness: Harness) -> None:
        self._harness = harness

    def spread(self, port: int, ask: Callable[[], object]) -> None:
        """Send it evenly, since a rate needs two different values.

        Args:
            port: of the worker's metrics. The first few choices make the series, and are scraped before others count.
            ask: asks the API something; called now and then.
        """
        for number in range(CHOICES):
            self._one(number)
            if number % 10 == 0:
                ask()
            if number == FIRST:
                self._harness.until(
                    lambda _: probes.metric(port, "sager_selection_rank_count") > FIRST,
                    "the first choices to be counted",
                )
                time.sleep(1.5)
            time.sleep(1 / PER_SECOND)
        self._harness.events.flush()

    def _one(self, number: int) -> None:
        events, shown = self._harness.events, slate(number)
        user, domain = f"user-{number % 40}", "books" if number % 12 == 7 else "films"
        arm = "ours" if number % 3 == 1 else None
        if number % 20 == 5:
            asked = events.rank_request(user, domain, shown, "something calm", request_id=f"q{number}")
            events.selection(asked, shown[number % 3]["item_id"])
        else:
            ranking = events.ranking(user, domain, shown, ranking_id=f"r{number}", arm=arm)
            others = [shown[8]["item_id"]] if number % 9 == 2 else []
            events.selection(ranking, shown[number % 7]["item_id"], others=others)
        if number % 15 == 3:
            events.interaction(user, domain, shown[0])
        if number == 4:
            at = {"event_id": f"w{number}", "occurred_at": datetime.now(UTC)}
            action = WeightAction.UNFREEZE
            with EventOutbox(self._harness.settings) as outbox:
                outbox.send(WeightCommand(**at, domain=domain, action=action, actor="ops"))
        self._say(number, user, domain, shown)
        if number % 60 == 9:
            self._harness.raw.produce(self._harness.settings.topic("rankings"), b"no ranking", b"user-1")

    def _say(self, number: int, user: str, domain: str, shown: list[dict[str, Any]]) -> None:
        """What people tell beside choices; each of it is more than the 20 below which no alert says anything."""
        events = self._harness.events
        if number % 3 == 0:
            events.feedback(user, domain, shown[0], SIGNALS[number // 3 % len(SIGNALS)])
        if number % 6 == 2:
            events.none_of_these(events.ranking(user, domain, shown, ranking_id=f"n{number}"))
        if number % 6 in (0, 4):
            genre = shown[0]["metadata"]["genres"][0]
            words = f"I used to like {genre}, but not any more." if number % 6 else "Mumble grumble."
            events.correct(user, domain, words, items=shown)
        if number == REFUSED:
            for item in slate(REFUSED):
                events.feedback("refuser", "films", item, "disliked")
            for again in range(3):
                events.none_of_these(events.ranking("asker", "films", slate(again), ranking_id=f"a{again}"))
        if number > ASKED and number % 20 == 5:
            events.rank_request("refuser", "films", slate(REFUSED))  # nothing of it suits
            events.rank_request("asker", "films", shown, clarify=True)


@pytest.fixture
def watched(harness: Harness) -> Iterator[tuple[Prometheus, float]]:
    """Prometheus, and since when it watches a deployment that has had load and an outage."""
    ports = worker_port, materializer_port, serve_port = free_port(), free_port(), free_port()
    began, data = time.time(), harness.settings.data_dir
    jobs = {
        "sager-worker": [f"127.0.0.1:{worker_port}"],
        "sager-materializer": [f"127.0.0.1:{materializer_port}"],
        "sager-http": [f"127.0.0.1:{serve_port}"],
    }
    token, known = tokens.new("prometheus", ["operate"], None, None)
    tokens_file = data / "tokens.toml"
    data.mkdir(parents=True, exist_ok=True)
    tokens_file.touch(mode=0o600)
    tokens_file.write_text(tokens.as_toml(known))
    api = free_port()
    with (
        threaded(OpenAiServer(always=Act(delay=0.02), keep=False)) as server,
        Prometheus(data, jobs, RULES, token=token) as prometheus,
    ):
        harness.worker(
            metrics_port=worker_port,
            reasoner="llm",
            ranker="listwise",
            llm_base_url=server.base_url,
            llm_model="test-model",
            llm_attempts=1,
            llm_breaker_failures=3,
            llm_breaker_seconds=0.2,
            llm_breaker_max_seconds=0.5,
            llm_price_prompt=1.0,
            llm_price_completion=4.0,
            llm_daily_budget=0.01,
            watchdog_seconds=8,
        )
        harness.start("materialize", metrics_port=materializer_port)
        harness.start("serve", http_tokens=tokens_file, http_port=api, metrics_port=serve_port)
        server.then(*[Do.ANSWER] * 30, *[Do.FAIL] * 5)
        harness.until(lambda _: all(map(is_ready, ports)), "all to be ready")
        Choices(harness).spread(worker_port, lambda: probes.ask(api, "/v1/status", token))
        harness.count(Contrast, CHOICES)
        time.sleep(2.5)  # for one more scrape, and an evaluation of the rules after it
        yield prometheus, began
        for process in list(harness.processes):
            harness.kill(process)


def answered(prometheus: Prometheus, since: float, asked: Asked, values: dict[str, str]) -> Answer:
    """As a panel would ask it, over the whole time."""
    lines = [series for _, series in prometheus.over(filled(asked.expr, values), since)]
    real = [[value for value in line if math.isfinite(value)] for line in lines]
    newest = [line[-1] for line in real if line]
    return Answer(asked, len(newest))


@pytest.mark.thorough
def test_every_query_has_data_on_a_worker_under_load(watched: tuple[Prometheus, float]) -> None:
    prometheus, since = watched
    values = dict(RANGES)
    for dashboard in dashboards().values():
        for name, (metric, label) in variables(dashboard).items():
            found = prometheus.label_values(filled(metric, values), label)
            assert found, f"{dashboard['title']}: no values for ${name}"
            values[name] = "|".join(re.escape(value).replace("\\", "\\\\") for value in found)  # as Grafana does
    assert {"films", "books"} <= set(values["domain"].split("|"))
    assert "ours" in values["arm"].split("|")

    questions = [*of_panels(), *of_annotations(), *(asked for _, asked in of_alerts())]
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda asked: answered(prometheus, since, asked, values), questions))
    assert [str(answer.asked) for answer in answers if not answer.series] == []

    rules = [rule for group in prometheus.ask("rules")["groups"] for rule in group["rules"]]
    assert {rule["name"]: rule["health"] for rule in rules} == {alert.name: "ok" for alert, _ in of_alerts()}
    firing = {rule["name"] for rule in rules if rule["state"] == "firing"}
    assert firing == {"SagerDeadLetters", "SagerLlmBudget", "SagerLlmBudgetNear"}
