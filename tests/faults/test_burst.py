"""Back-pressure: a burst before a slow LLM waits in Kafka, not in the worker. The large one is benchmarks/burst.py."""

import pytest

from benchmarks.surroundings import scraped
from schemas import Contrast, Ranking, Selection
from streams.kafka.consumer_group import lag
from streams.kafka.topics import admin
from streams.local.broker import free_port
from tests.builders import slate
from tests.faults.oracle import Run, assert_undisturbed, times
from tests.faults.test_kills import BROKER
from tests.harness import Harness, Outputs, by_bytes
from tests.openai_server import Act, OpenAiServer, threaded

pytestmark = [pytest.mark.on("kafka"), pytest.mark.broker, pytest.mark.thorough, pytest.mark.timeout(1_800)]

IN_FLIGHT, USERS = 16, 200


@pytest.mark.seldom
def test_a_burst_is_taken_no_faster_than_the_llm_answers(harness: Harness) -> None:
    contrasts = times(short=500, full=500)
    run = Run(f"burst of {2 * contrasts:,} events before an LLM that takes 0.2 s", BROKER)
    port, taken, waiting, told = free_port(), list[float](), list[float](), list[float]()
    with threaded(OpenAiServer(always=Act(delay=0.2), keep=False)) as server:
        harness.materializer()
        rankings, selections = [], []
        for number in range(contrasts):
            shown = slate(number)
            ranking = harness.events.ranking(f"user-{number % USERS}", "films", shown, ranking_id=f"r{number}")
            selection = harness.events.selection(ranking, shown[number % 10]["item_id"], event_id=f"s{number}")
            rankings.append(by_bytes(Ranking, ranking))
            selections.append(by_bytes(Selection, selection))
        harness.events.flush()
        llm = {"reasoner": "llm", "llm_base_url": server.base_url, "in_flight": IN_FLIGHT}
        harness.worker(**llm, metrics_port=port)
        harness.has_started("worker")
        asking = admin(harness.settings)

        def all_answered(outputs: Outputs) -> bool:
            metrics = scraped(port)
            taken.append(metrics.get("sager_in_flight evolve", 0))
            told.append(sum(count for name, count in metrics.items() if name.startswith("sager_lag_records")))
            waiting.append(sum(lag(harness.settings, asking).values()))
            return len(outputs.diffs) == contrasts

        harness.until(all_answered, f"{contrasts} diffs", seconds=1_200)
        outputs = assert_undisturbed(harness, run, rankings, selections, by_rules=False)
        metrics = scraped(port)
        harness.until(lambda _: scraped(port)["sager_lag_records contrasts"] == 0, "no lag in the metrics")
        harness.until(lambda _: sum(lag(harness.settings, asking, ["contrasts"]).values()) == 0, "no lag")

    # As many calls as may be in flight were, and never more; and in the worker no more than it says.
    assert 0 < max(taken) <= metrics["sager_in_flight_limit evolve"]
    assert server.peak == IN_FLIGHT
    assert {diff.reasoned_by.reasoner for diff in outputs.diffs} == {"llm"}
    # Events waited in Kafka, far more than the worker had in hand, and it told so.
    assert max(waiting) > 10 * IN_FLIGHT
    assert max(told) > IN_FLIGHT
    assert metrics["sager_unacked evolve"] == 0
    assert metrics["sager_events_total evolve"] == len(outputs.records[Contrast.TOPIC])
