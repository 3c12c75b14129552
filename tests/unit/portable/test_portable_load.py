"""A file from outside: its skills and card are what they say, or it is refused with the line."""

import gzip
import io
import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from schemas import Model, PolicySkill
from streams.cli import app
from streams.rights import importing
from streams.rights.exporting import Header
from streams.rights.importing import InvalidExport, load
from tests.builders import DOMAIN, NOW, USER, a_skill, an_attribute, an_interaction

SKILL = a_skill(an_attribute())
HEADER = Header(user_id=USER, prefix="sager.", exported_at=NOW)


def a_line(event: Model) -> bytes:
    return json.dumps({"topic": event.TOPIC, "offset": 1, "value": event.model_dump(mode="json")}).encode()


def an_export(*lines: bytes, header: bytes = HEADER.model_dump_json().encode(), end: bytes = b'{"end": {}}') -> bytes:
    return gzip.compress(b"\n".join([header, *lines, end]) + b"\n", mtime=0)


def test_the_skills_of_an_export_are_taken() -> None:
    made = an_export(a_line(an_interaction()), a_line(SKILL), b'{"table": "skills", "row": {"user_id": "x"}}')

    bundle = load(io.BytesIO(made))

    assert (bundle.skills, bundle.header, bundle.card) == ({DOMAIN: SKILL}, HEADER, None)


def changed(**more: Any) -> bytes:
    return json.dumps({**HEADER.model_dump(mode="json"), **more}).encode()


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (b"", "incomplete"),
        (b"no gzip", "not a gzip file"),
        (an_export()[:-9], "not a gzip file"),
        (an_export(header=b"{"), "line 1"),
        (an_export(header=changed(format="sager-portable-9")), "line 1: format"),
        (an_export(a_line(SKILL), end=b""), "line 3"),
        (gzip.compress(HEADER.model_dump_json().encode() + b"\n", mtime=0), "incomplete"),
        (an_export(a_line(SKILL.model_copy(update={"user_id": "bob"}))), "line 2: it is not about the person"),
        (an_export(a_line(SKILL.model_copy(update={"attributes": SKILL.attributes * 65}))), "line 2: attributes"),
    ],
)
def test_a_file_that_is_not_as_it_was_exported_is_refused(tmp_path: Path, made: bytes, why: str) -> None:
    file = tmp_path / "ann.jsonl.gz"
    file.write_bytes(made)

    done = CliRunner().invoke(app, ["policy", "import", str(file)], env={"SAGER_BOOTSTRAP": "127.0.0.1:1"})

    assert (done.exit_code, done.stdout) == (1, "")
    assert why in done.stderr
    assert "Traceback" not in done.stderr


LINES = st.one_of(
    st.binary(max_size=60),
    st.sampled_from([b"[]", b"1", b'"value"', b"[" * 9_999, b"\n"]),
    st.sampled_from([{}, 1, None, [1]]).map(
        lambda value: json.dumps({"topic": PolicySkill.TOPIC, "value": value}).encode()
    ),
)


@given(st.lists(LINES, min_size=1, max_size=3))
def test_no_line_does_anything_but_be_refused_or_ignored(lines: list[bytes]) -> None:
    with suppress(InvalidExport):
        assert load(io.BytesIO(an_export(*lines))).skills == {}


def test_a_file_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "MAX_BYTES", 100_000)

    with pytest.raises(InvalidExport, match="more than"):
        load(io.BytesIO(gzip.compress(b" " * 200_000, mtime=0)))
