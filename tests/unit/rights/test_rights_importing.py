"""Import of an export: validated, or refused with the wrong line; statements and cards are sent again."""

import gzip
import io
import json
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from operators.cards.fold import apply_diff
from operators.cards.merge import apply_command
from operators.erasure import words_digest
from operators.language.corrections import understand
from operators.language.words import plain_words
from operators.learning.fold import initial_skill
from operators.steps.evolve import EvolveState, EvolveStep
from schemas import Card, CardAction, CardCommand, Correction, Model, PolicySkill, Scope, Stance, decode, encode
from schemas.codec import line_digest, subject_digest
from schemas.commands import ErasedScope, Receipt
from streams.cli import app
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from streams.rights import importing
from streams.rights.exporting import Header
from streams.rights.importing import ImportOrder, InvalidExport, card_commands, load, statement_corrections
from tests.analytics_talks import talks
from tests.builders import DOMAIN, NOW, USER, a_command, a_skill, a_time, an_attribute, an_interaction, item_facts
from tests.unit.analytics.analytics_builders import AVOIDS_HORROR, CHEAPER, NOIR, NOT_DUNE, RATHER_NOIR, SF

SKILL = a_skill(an_attribute())
HEADER = Header(user_id=USER, prefix="sager.", exported_at=NOW)


def a_line(event: Model) -> bytes:
    return json.dumps({"topic": event.TOPIC, "offset": 1, "value": event.model_dump(mode="json")}).encode()


def an_export(*lines: bytes, header: bytes = HEADER.model_dump_json().encode(), end: bytes = b'{"end": {}}') -> bytes:
    return gzip.compress(b"\n".join([header, *lines, end]) + b"\n", mtime=0)


def test_an_export_is_loaded_with_its_skills() -> None:
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
def test_a_damaged_export_is_refused_with_the_line(tmp_path: Path, made: bytes, why: str) -> None:
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
def test_arbitrary_lines_are_refused_or_ignored(lines: list[bytes]) -> None:
    with suppress(InvalidExport):
        assert load(io.BytesIO(an_export(*lines))).skills == {}


def test_a_zip_bomb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "MAX_BYTES", 100_000)

    with pytest.raises(InvalidExport, match="more than"):
        load(io.BytesIO(gzip.compress(b" " * 200_000, mtime=0)))


STEP = EvolveStep(privacy=PRIVACY, gate=OUTPUT_GATE)
LATER = a_time(60 * 24)
ORDER = ImportOrder("anna", at=LATER)
FOR_GOOD = {"scope": Scope.ALWAYS, "session_id": None, "until": None}
SAID = (
    AVOIDS_HORROR,
    RATHER_NOIR.model_copy(update=FOR_GOOD),
    CHEAPER.model_copy(update={**FOR_GOOD, "value": "price below 20", "statement_id": "prefers:bound:price:below"}),
    NOT_DUNE,
)


def with_stated(*said: object) -> PolicySkill:
    skill = initial_skill("eve", "books", (), a_command(user_id="eve"))
    return skill.model_copy(update={"stated": said})


def heard(corrections: list[Correction]) -> PolicySkill:
    skill = initial_skill("anna", "books", (), a_command(user_id="anna"))
    for correction in corrections:
        sent = decode(Correction, encode(correction))
        items = [item_facts(item.item_id, title=item.title) for item in sent.items]
        skill = STEP.correct(
            EvolveState(skill), sent, items, understand(sent, items, skill, privacy=PRIVACY, reader=RULES)
        ).skill
    return skill


def test_lasting_statements_are_sent_as_corrections() -> None:
    [correction] = statement_corrections(with_stated(*SAID), "anna", ORDER)

    now = heard([correction])

    assert (correction.user_id, correction.domain, correction.scope) == ("anna", "books", Scope.ALWAYS)
    told = {(each.stance, each.dimension, each.value, each.over, each.bound) for each in now.stated}
    assert told == {(each.stance, each.dimension, each.value, each.over, each.bound) for each in SAID}
    ids = {each.attribute_id for each in now.stated}
    assert ids >= {NOIR, "preference:genre:horror", "bound:price:below"}
    assert {each.item_id for each in now.stated} == {None, "dune"}
    assert next(each.over for each in now.stated if each.stance is Stance.INSTEAD) == SF


def test_temporary_and_expired_statements_are_not_imported() -> None:
    over = AVOIDS_HORROR.model_copy(update={"until": LATER - timedelta(minutes=1)})

    assert statement_corrections(with_stated(RATHER_NOIR, CHEAPER, over), "anna", ORDER) == []


def test_an_import_leaves_erased_statements_and_card_lines_out() -> None:
    skill, card = with_stated(*SAID), card_of(0)
    gone = card.lines[0]
    digests = [line_digest("anna", "books", name) for name in ("preference:genre:horror", "prefers:bound:price:below")]
    scope = ErasedScope(event_id="r", until=NOW, actor="anna", done=True)
    lines = dict.fromkeys((*digests, words_digest("anna", plain_words(gone.value))), scope)
    receipt = Receipt(event_id="r", occurred_at=NOW, subject=subject_digest("anna"), lines=lines)

    assert [each.attribute_id for each in importing.importable_skill(skill, "anna", receipt).stated] == [
        NOIR,
        NOT_DUNE.attribute_id,
    ]
    assert importing.importable_card(card, "anna", receipt).lines == card.lines[1:]
    assert importing.importable_skill(skill, "eve", receipt) == importing.importable_skill(skill, "anna", None) == skill
    assert importing.importable_card(card, "anna", None) == card


def card_of(place: int) -> Card:
    people = ("ann", "bob", "cem")
    return [card for diff, card in talks(people, a_time(0)) if diff.user_id == people[place]][-1]


def written(commands: list[CardCommand]) -> Card | None:
    card = None
    for command in commands:
        diff = apply_command(card, decode(CardCommand, encode(command)), None, PRIVACY)
        assert diff is not None
        card = apply_diff(card, diff)
    return card


def test_card_lines_are_sent_with_their_pins() -> None:
    card = card_of(0)
    first = card.lines[0].model_copy(update={"pinned": True})
    card = card.model_copy(update={"lines": (first, *card.lines[1:])})

    now = written(list(card_commands(card, "anna", ORDER)))

    assert now is not None
    assert now.user_id == "anna"
    assert {line.line_id for line in now.lines} == {line.line_id for line in card.lines}
    assert [line.line_id for line in now.lines if line.pinned] == [first.line_id]
    assert now.past == ()


def test_an_import_of_one_domain_sends_only_its_card_lines() -> None:
    found = list(card_commands(card_of(0), "anna", ORDER, "films"))

    assert [(each.action, each.line and each.line.value) for each in found] == [(CardAction.SET, "horror")]
    assert list(card_commands(card_of(0), "anna", ORDER, "music")) == []
