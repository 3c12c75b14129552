"""Old events are read after a version 2 exists: an upgrade path as a real one would be, on the records of version 1.

The classes of version 2 are made up; what they read are the examples that stand for the records of others' logs.
"""

import json
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest

from schemas import BadRecord, Event, PolicySkill, Selection, SkillDiff, decode, encode
from schemas.base import Upgrade, at_version
from schemas.codec import upgrade
from schemas.fields import Identifier

GOLDEN = Path(__file__).parent / "golden"


def wire(base: str) -> bytes:
    return (GOLDEN / f"{base}.json").read_bytes().rstrip(b"\n")


def _device_named(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "device": "unknown"}


def _ranking_renamed(record: dict[str, Any]) -> dict[str, Any]:
    return {**{name: part for name, part in record.items() if name != "ranking_id"}, "list_id": record["ranking_id"]}


class SelectionV3(Event):
    """A selection twice changed: version 2 has a required `device`, version 3 calls the ranking's id otherwise."""

    TOPIC: ClassVar[str] = Selection.TOPIC
    UPGRADES: ClassVar[tuple[Upgrade, ...]] = (_device_named, _ranking_renamed)

    schema_version: Annotated[int, at_version(3)] = 3
    user_id: Identifier
    item_id: Identifier
    list_id: Identifier
    device: Identifier


class SkillDiffV2(SkillDiff):
    """A diff with a new required field."""

    UPGRADES: ClassVar[tuple[Upgrade, ...]] = (_device_named,)

    schema_version: Annotated[int, at_version(2)] = 2
    device: Identifier


def _last_diff_upgraded(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "last_diff": record["last_diff"] and upgrade(SkillDiffV2, record["last_diff"])}


class PolicySkillV2(PolicySkill):
    """A skill that is at version 2 because the diff inside of it is."""

    UPGRADES: ClassVar[tuple[Upgrade, ...]] = (_last_diff_upgraded,)

    schema_version: Annotated[int, at_version(2)] = 2
    last_diff: SkillDiffV2 | None = None


def old(**changes: Any) -> dict[str, Any]:
    return {**json.loads(wire(Selection.TOPIC)), **changes}


def read(record: dict[str, Any]) -> SelectionV3:
    return decode(SelectionV3, json.dumps(record).encode())


def test_a_record_of_version_1_is_read_as_one_of_today() -> None:
    then, now = decode(Selection, wire(Selection.TOPIC)), decode(SelectionV3, wire(Selection.TOPIC))

    assert now.schema_version == 3
    assert (now.event_id, now.occurred_at, now.user_id) == (then.event_id, then.occurred_at, then.user_id)
    assert (now.list_id, now.device) == (then.ranking_id, "unknown")


@pytest.mark.parametrize("version", [0, -1, 4, 2**63 - 1, True, "2", None, 1.5, [1]])
def test_a_version_that_we_do_not_know_is_refused(version: Any) -> None:
    with pytest.raises(BadRecord) as caught:
        read(old(schema_version=version))

    assert caught.value.reason == ("unknown-version" if type(version) is int else "invalid")


def test_readers_of_version_1_refuse_what_is_newer() -> None:
    with pytest.raises(BadRecord) as caught:
        decode(Selection, encode(decode(SelectionV3, wire(Selection.TOPIC))))

    assert caught.value.reason == "unknown-version"


@pytest.mark.parametrize("value", [b"{}", b"[1]", b"null", b'{"schema_version": 1}', b'{"ranking_id": {}}', b"{"])
def test_an_upgrade_meets_hostile_input_and_the_record_is_refused(value: bytes) -> None:
    with pytest.raises(BadRecord) as caught:
        decode(SelectionV3, value)

    assert caught.value.reason == ("not-json" if value == b"{" else "invalid")


def test_an_event_inside_of_another_is_upgraded_with_it() -> None:
    skill = decode(PolicySkillV2, wire(PolicySkill.TOPIC))

    assert skill.last_diff is not None
    assert (skill.schema_version, skill.last_diff.schema_version, skill.last_diff.device) == (2, 2, "unknown")
