"""A value that the privacy filter refuses is in no byte of the DuckDB file, new or old; its kind is."""

from typing import Any

import pytest

from operators.learning.commands import resolve_command
from schemas import Action, SkillCommand, SkillLineInput, encode
from streams.analytics.store import DuckDBStore
from streams.output_gate import DEFAULT as OUTPUT_GATE
from streams.privacy import DEFAULT as PRIVACY
from tests.builders import a_skill
from tests.unit.materializer.materializer_builders import NOON, batch_of

PHONE, DIGITS = "call +49 151 23456789", b"23456789"
REFUSED: list[dict[str, Any]] = [
    {"action": Action.ADD, "line": SkillLineInput(dimension="contact", value=PHONE)},
    {
        "action": Action.ADD,
        "line": SkillLineInput(dimension="ring 23456789 or +49 151 23456789", value="in the evening"),
    },
    {"action": Action.REWORD, "attribute_id": "preference:genre:noir", "value": PHONE},
    {"action": Action.PIN, "attribute_id": "preference:contact:+49-151-23456789"},
    {"action": Action.FREEZE, "reason": PHONE},
]
PUBLISHED = NOON.replace(tzinfo=None)


def command(number: int, about: dict[str, Any]) -> SkillCommand:
    return SkillCommand(
        event_id=f"command-{number}", occurred_at=NOON, user_id="ann", domain="films", actor="ann", **about
    )


def values(store: DuckDBStore) -> list[Any]:
    return store._db.execute("SELECT attribute_id, value FROM skill_commands ORDER BY event_id").fetchall()


@pytest.mark.parametrize("about", REFUSED, ids=lambda about: about["action"])
def test_a_refused_value_is_in_no_byte_of_the_file(tmp_path, about):
    said = command(1, about)
    assert DIGITS in encode(said)
    diff = resolve_command(a_skill(user_id="ann", domain="films"), said, privacy=PRIVACY, gate=OUTPUT_GATE)

    with DuckDBStore(tmp_path / "live.duckdb", "sager.") as store:
        store.write(batch_of(said, diff), {})
        store.checkpoint(PUBLISHED, None)
        [(_, value)] = values(store)
        refusals = store._db.execute("SELECT attribute_id, why FROM skill_refusals").fetchall()
    assert DIGITS not in encode(diff)
    assert DIGITS not in (tmp_path / "live.duckdb").read_bytes()
    if about["action"] is not Action.FREEZE:
        assert refusals == [("private:phone", "private")], "reason and kind are kept"
    if "value" in about or "line" in about:
        assert value in ("private:phone", "in the evening")
