"""Edited, moved and removed records of cards are found on the topics, and edited rows in DuckDB."""

import shutil
from pathlib import Path

import duckdb
import pytest
from pydantic import SecretStr

from operators.cards.fold import fold
from operators.chain import seal_all
from operators.findings import Kind
from schemas import Card, CardDiff, compound_key
from schemas.cards import CardChange, CardChangeKind
from streams.kafka.clients import partition_of
from streams.rights.verify import partition, verify
from streams.settings import Settings
from tests.builders import a_time
from tests.integration.test_verify import KEY, World, of
from tests.unit.cards.cards_builders import a_line

pytestmark = [pytest.mark.on("embedded"), pytest.mark.broker]


class Carded(World):
    """People with cards, sealed as a worker seals them."""

    def card(self, user: str) -> tuple[list[CardDiff], Card]:
        """A card of three versions, on the topics."""
        log = []
        for version, value in enumerate(("noir", "saga", "tofu"), 1):
            line = a_line(value, words=f"I like {value}", since=a_time(1), confirmed_at=a_time(1))
            change = CardChange(kind=CardChangeKind.ADDED, line_id=line.line_id, line=line)
            log.append(
                CardDiff(
                    event_id=f"{user}-{version}", occurred_at=a_time(version), user_id=user, version=version,
                    changes=(change,),
                )
            )  # fmt: skip
        log = seal_all(log, KEY)
        card = fold(log)[user]
        self.send(user, *log, card)
        return log, card


@pytest.fixture
def world(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Carded:
    monkeypatch.setattr(partition, "LATE_SECONDS", 0.0)
    given = {"chain_key": SecretStr(KEY.decode()), "partitions": 2, "batch_seconds": 0.05, "publish_seconds": 0.2}
    return Carded(settings.model_copy(update=given))


def test_edited_cards_are_found_and_named(world: Carded, tmp_path: Path) -> None:
    everyone = ("sound", "words", "log", "resealed", "cut", "gone", "moved", "torn", "forgotten")
    made = {name: world.card(name) for name in everyone}
    world.materialize()
    done = verify(world.settings)
    assert (done.findings, done.cards) == ([], len(everyone))

    def edited(card: Card) -> Card:
        lines = (card.lines[0].model_copy(update={"words": "I love everything"}), *card.lines[1:])
        return card.model_copy(update={"lines": lines})

    world.send("words", edited(made["words"][1]))
    world.send("log", made["log"][0][1].model_copy(update={"changes": ()}))
    log = [diff.model_copy(update={"reward": 7}) for diff in made["resealed"][0]]
    world.send("resealed", *(again := seal_all(log, b"guess")), fold(again)["resealed"])
    world.put("cut", CardDiff.TOPIC, compound_key("cut", 3), None)
    for version in (1, 2, 3):
        world.put("gone", CardDiff.TOPIC, compound_key("gone", version), None)
        world.put("forgotten", CardDiff.TOPIC, compound_key("forgotten", version), None)
    world.put("forgotten", Card.TOPIC, b"forgotten", None)
    world.forget("forgotten")
    there = 1 - partition_of("moved", 2)
    world.put("moved", Card.TOPIC, b"moved", made["moved"][1].model_dump_json().encode(), there)
    world.put("torn", Card.TOPIC, b"torn", b"{")
    world.flush()
    world.settings = world.settings.model_copy(update={"duckdb": tmp_path / "none.duckdb"})
    found = verify(world.settings).findings

    assert {name: of(found, name) for name in everyone} == {
        "sound": set(),
        "forgotten": set(),
        "words": {Kind.CARD_DIFFERS},
        "log": {Kind.LOG_FORGED, Kind.CARD_DIFFERS},
        "resealed": {Kind.LOG_FORGED},
        "cut": {Kind.LOG_CUT},
        "gone": {Kind.LOG_CUT},
        "moved": {Kind.MISPLACED},
        "torn": {Kind.UNREADABLE, Kind.CARD_MISSING},
    }
    assert of(verify(world.settings, "words").findings, "words") == {Kind.CARD_DIFFERS}


def test_an_edited_card_in_duckdb_is_found(world: Carded, tmp_path: Path) -> None:
    world.card("ann")
    world.materialize()
    copy = tmp_path / "forged.duckdb"
    shutil.copy(world.settings.duckdb_file, copy)
    copy.chmod(0o600)
    with duckdb.connect(str(copy)) as con:
        con.execute("UPDATE card_lines SET words = 'I love everything'")

    found = verify(world.settings.model_copy(update={"duckdb": copy})).findings

    assert of(found, "ann") == {Kind.ROW_EDITED}
