"""What the benchmarks count of Kafka's traffic, on a real broker."""

from benchmarks.choices import choices, send
from benchmarks.surroundings import reached_as
from benchmarks.traffic import Traffic
from sager_client import EventProducer
from sager_client.schemas import encode
from streams.kafka import topics
from streams.settings import Settings


def test_all_records_are_counted_once_with_their_bytes(settings: Settings) -> None:
    topics.ensure(settings)
    traffic, chosen = Traffic(settings), list(choices(300, 7))
    with EventProducer(connection=reached_as(settings)) as events:
        send(events, iter(chosen))

    found = traffic.read()

    assert found.records == {"rankings": 300, "selections": 300}
    whole = sum(len(encode(choice.ranking)) + len(choice.ranking.user_id) for choice in chosen)
    assert found.plain["rankings"] == whole
    assert 0 < found.stored["rankings"] < whole, "batches are compressed"
    assert len(traffic.newest["rankings"]) == 7
    assert traffic.read().records == {}
    traffic.close()
