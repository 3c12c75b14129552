"""A value that the privacy filter refuses is in no byte of the DuckDB file, new or old; its kind is."""

from typing import Any

import pytest

from operators.merge import resolve_command
from operators.privacy import DEFAULT, OFF, Category, Privacy
from schemas import Action, SkillCommand, Stated, encode
from streams.materializer.batch import Batch
from streams.materializer.rows import read
from streams.materializer.snapshot import Publisher
from streams.materializer.store import Store
from tests.builders import a_skill
from tests.unit.materializer.materializer_builders import NOON, batch_of, record

PHONE, DIGITS = "call +49 151 23456789", b"23456789"
REFUSED: list[dict[str, Any]] = [
    {"action": Action.ADD, "line": Stated(dimension="contact", value=PHONE)},
    {"action": Action.ADD, "line": Stated(dimension="ring 23456789 or +49 151 23456789", value="in the evening")},
    {"action": Action.REWORD, "attribute_id": "preference:genre:noir", "value": PHONE},
    {"action": Action.PIN, "attribute_id": "preference:contact:+49-151-23456789"},
    {"action": Action.FREEZE, "reason": PHONE},
]
PUBLISHED = NOON.replace(tzinfo=None)
KEPT = {"action": Action.ADD, "line": Stated(dimension="mood", value="rainy evenings")}


def command(number: int, about: dict[str, Any]) -> SkillCommand:
    return SkillCommand(
        event_id=f"command-{number}", occurred_at=NOON, user_id="ann", domain="films", actor="ann", **about
    )


def values(store: Store) -> list[Any]:
    return store._db.execute("SELECT attribute_id, value FROM skill_commands ORDER BY event_id").fetchall()


@pytest.mark.parametrize("about", REFUSED, ids=lambda about: about["action"])
def test_a_refused_value_is_in_no_byte_of_the_file(tmp_path, about):
    said = command(1, about)
    assert DIGITS in encode(said)
    diff = resolve_command(a_skill(user_id="ann", domain="films"), said)

    with Store(tmp_path / "live.duckdb", "sager.") as store:
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


def test_what_is_not_private_is_kept_as_it_was_said(tmp_path):
    with Store(tmp_path / "live.duckdb", "sager.") as store:
        store.write(batch_of(command(1, KEPT)), {})
        assert store.clean(DEFAULT) == 0
        assert values(store) == [(None, "rainy evenings")]


def test_a_file_of_an_older_release_is_cleaned_at_the_start(tmp_path):
    """By the filter, and where it does not see it without the dimension, by what the log says was refused."""
    path = tmp_path / "live.duckdb"
    said = [command(number, about) for number, about in enumerate([*REFUSED[:4], KEPT])]
    of_dimension = command(9, {"action": Action.ADD, "line": Stated(dimension="politics", value="the usual marches")})
    refused = resolve_command(a_skill(user_id="ann", domain="films"), of_dimension)
    assert refused.refused
    assert DEFAULT.refuses("films", "", "the usual marches") is None
    with Store(path, "sager.") as store:
        older = Batch()
        for each in [*said, of_dimension]:
            older.add(read(record(each), OFF))
        older.add(read(record(refused)))
        store.write(older, {})
        store.checkpoint(PUBLISHED, None)
    assert DIGITS in path.read_bytes()
    assert b"the usual marches" in path.read_bytes()

    with Store(path, "sager.") as store:
        assert store.clean(DEFAULT) == 4
        store._db.execute("UPDATE skill_commands SET value = ? WHERE event_id = 'command-4'", [PHONE])
        assert store.clean(DEFAULT) == 0, "this filter has looked: another start costs nothing"
        assert store.clean(Privacy(allowed={"films": frozenset({Category.HEALTH})})) == 1, "another filter looks again"
        Publisher(store, tmp_path / "sager.duckdb", 5.0).publish()
        assert values(store)[4:] == [(None, "private:phone"), (None, "private:politics")]
    for file in (path, tmp_path / "sager.duckdb"):
        assert DIGITS not in file.read_bytes()
        assert b"the usual marches" not in file.read_bytes()


def test_a_filter_that_is_switched_off_takes_nothing_out(tmp_path):
    with Store(tmp_path / "live.duckdb", "sager.") as store:
        older = Batch()
        older.add(read(record(command(1, REFUSED[0])), OFF))
        store.write(older, {})
        assert store.clean(OFF) == 0
        assert values(store) == [(None, PHONE)]
