"""Anchor files, and the tables that a verification compares."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from operators.anchor import ReceiptMark, SkillMark
from schemas import TOPICS
from streams.materializer.schema import tables
from streams.rights.anchors import Anchor, NoAnchor, load, refuse_target, write
from streams.rights.snapshot_check import EVENTS, SEALED
from streams.settings import Settings

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SETTINGS = Settings(chain_key=SecretStr("a key of more than thirty-two characters"))
ANCHOR = Anchor(
    NOW,
    {"skill": SkillMark("person", "skill", 3, "seal", 2, 0)},
    {"person": ReceiptMark("person", {"person": NOW})},
)


def test_an_anchor_is_read_as_it_was_written(tmp_path: Path) -> None:
    write(tmp_path / "anchor", SETTINGS, ANCHOR)

    assert load(tmp_path / "anchor", SETTINGS) == ANCHOR
    assert (tmp_path / "anchor").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "edit",
    [
        lambda raw: raw.replace(b'"s"', b'"r"', 1),
        lambda raw: b"\n".join(raw.splitlines()[:-1]) + b"\n",
        lambda raw: raw.replace(b"3", b"2", 1),
        lambda _: b"",
        lambda _: b"[]\n[" * 9_999,
    ],
    ids=["kind", "cut", "version", "empty", "nested"],
)
def test_an_edited_anchor_is_refused(tmp_path: Path, edit) -> None:
    write(tmp_path / "anchor", SETTINGS, ANCHOR)
    (tmp_path / "anchor").write_bytes(edit((tmp_path / "anchor").read_bytes()))

    with pytest.raises(NoAnchor, match="edited"):
        load(tmp_path / "anchor", SETTINGS)


def test_an_anchor_belongs_to_one_deployment_and_is_never_replaced(tmp_path: Path) -> None:
    write(tmp_path / "anchor", SETTINGS, ANCHOR)

    with pytest.raises(NoAnchor, match="topic prefix"):
        load(tmp_path / "anchor", SETTINGS.model_copy(update={"prefix": "other."}))
    with pytest.raises(NoAnchor, match="SAGER_CHAIN_KEY"):
        load(tmp_path / "anchor", SETTINGS.model_copy(update={"chain_key": SecretStr("k" * 40)}))
    with pytest.raises(NoAnchor, match="never replaced"):
        refuse_target(tmp_path / "anchor", SETTINGS)
    with pytest.raises(NoAnchor, match="pseudonyms"):
        refuse_target(tmp_path / "new", SETTINGS.model_copy(update={"chain_key": None}))


def test_every_table_with_rows_of_users_is_compared() -> None:
    checked = {*EVENTS, *(model.TOPIC for model in SEALED)}

    assert {base.replace("-", "_") for base in checked} == {
        table.name for table in tables() if table.key[0] == "user_id"
    }
    assert checked <= set(TOPICS)
