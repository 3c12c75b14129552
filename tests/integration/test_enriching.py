"""Items gain quoted facts on their topic: a real worker and broker, and an endpoint over HTTP."""

from typing import Any

import pytest

from schemas import Contrast, Fact, Item
from tests.harness import Harness
from tests.openai_server import Act, OpenAiServer, threaded
from tests.waiting import until

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]

FILM = {
    "item_id": "arrival",
    "title": "Arrival",
    "description": "A slow-burn romance by the sea.",
    "metadata": {"year": 2016},
}
OTHER = {"item_id": "other", "title": "Heat", "metadata": {"year": 1995}}
FACTS = (Fact(dimension="theme", value="slow-burn"), Fact(dimension="theme", value="sea"))


def films(harness: Harness) -> list[Item | None]:
    """The records of the film, oldest first; None for a tombstone."""
    found = [message for message in harness.outputs.records.get("items", []) if message.key() == b"arrival"]
    return [None if message.value() is None else Item.model_validate_json(message.value()) for message in found]


def quoted(item: Item | None) -> tuple[Fact, ...]:
    return () if item is None or item.quoted is None else item.quoted.facts


def settled(harness: Harness, records: int) -> list[Item | None]:
    harness.until(lambda _: len(films(harness)) >= records, f"{records} records of the film")
    harness.quiet()
    return films(harness)


def test_an_item_is_read_once_and_its_facts_follow_it(harness: Harness) -> None:
    with threaded(OpenAiServer(Act(says={"facts": ["slow-burn", "sea"]}))) as server:
        settings: dict[str, Any] = {"enrich": "llm", "llm_base_url": server.base_url, "llm_model": "fake"}
        first = harness.worker("one", **settings)
        harness.materializer()
        for name in ("arrival", "two", "three"):  # facts of fewer items do not count
            harness.events.item("films", {**FILM, "item_id": name})
        harness.events.flush()
        assert [quoted(item) for item in settled(harness, 2)] == [(), FACTS]
        harness.until(lambda out: len(out.records["items"]) == 6, "the records of all films")

        ranking = harness.events.ranking("ann", "films", [{"item_id": "arrival"}, OTHER])
        harness.events.selection(ranking, "arrival")
        harness.events.flush()
        [contrast] = harness.count(Contrast, 1).values(Contrast)
        assert contrast.chosen.facts[-2:] == FACTS

        # The app knows no facts, and sends another year; then another worker takes over.
        harness.events.item("films", {**FILM, "metadata": {"year": 2017}})
        harness.events.flush()
        last = settled(harness, 4)[-1]
        assert last is not None
        assert (last.item.metadata["year"], quoted(last)) == (2017, FACTS)
        harness.stop(first)
        harness.worker("two", **settings)
        server.always = Act(says={"facts": ["storm"]})
        harness.events.item("films", {**FILM, "description": "A storm."})
        harness.events.flush()
        assert [fact.value for fact in quoted(settled(harness, 6)[-1])] == ["storm"]
        query = "SELECT item_id, quoted FROM items WHERE item_id = 'arrival'"
        values = harness.duckdb(query, lambda rows: rows == [("arrival", ["storm"])])
        assert values == [("arrival", ["storm"])]

        harness.raw.produce(harness.settings.topic("items"), None, b"arrival")
        harness.raw.flush()
        assert settled(harness, 7)[6:] == [None]
        until(lambda: len(server.bodies) == 4, "a call per text")
        assert harness.outputs.dead_letters == []
