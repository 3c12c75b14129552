"""One example of every event, byte for byte. They stand for the records that others have written and that a log keeps.

The data are made up, and tell one story: Ann takes a mystery from a ranking, her skill learns from it. In `after` she
goes on: she says what she does not want, takes nothing of one list and two items of another.
"""

import json
from itertools import pairwise
from typing import Any

import pytest

from operators.audit import chain_breaks
from operators.cards.fold import fold_cards
from operators.cards.lines import line_id
from operators.evolve import Proposal, validate
from operators.learning.fold import fold, merge
from operators.learning.update import resolve_choice
from operators.seals import is_sealed, seal_diff
from operators.slim import slim
from schemas import TOPICS, Card, CardChangeKind, CardDiff, Contrast, DeadLetter, PolicySkill, SkillDiff, Tier, Topic
from schemas.codec import BadRecord, decode, encode
from streams.output_gate import DEFAULT as OUTPUT_GATE
from streams.privacy import DEFAULT as PRIVACY
from tests.golden import GOLDEN, wire

BASES = sorted(TOPICS)
AFTER = sorted(name.removeprefix("after/") for name in GOLDEN if name.startswith("after/"))
"""Further examples, of what those of `BASES` have none of: TOPIC or TOPIC.WHAT."""
AFTERWARDS = ("rated", "none-taken", "corrected", "said")
"""In the order of their versions."""
CARDS_AFTERWARDS = ("overtaken", "set")
"""In the order of the card's versions."""
EXAMPLES = [*BASES, *(f"after/{name}" for name in AFTER)]
WIRE_CHANGE = """
The bytes of `{base}` on the wire have changed. Records like {file} are in logs, in compacted topics and in apps that
we do not deploy: `skill-diffs` are kept for ever, and every skill is rebuilt from them.
  - A new field needs a default, and old records must stay readable: then this example gets the field too.
  - A renamed, removed or retyped field is a new SCHEMA_VERSION, and a CHANGELOG entry.
  - Anything else is a mistake: put it back.
Do not edit the example just to make this test pass.
"""


def topic_of_example(name: str) -> Topic:
    """Return the topic of an example.

    >>> topic_of_example("after/selections.none-taken").base
    'selections'
    """
    return TOPICS[name.removeprefix("after/").partition(".")[0]]


def read(name: str) -> Any:
    return decode(topic_of_example(name).model, wire(name))


def nested(value: Any, extra: dict[str, Any]) -> Any:
    """The same JSON with unknown fields in every object; not in `metadata`, `shares` and such, where keys are data."""
    if isinstance(value, list):
        return [nested(entry, extra) for entry in value]
    if not isinstance(value, dict):
        return value
    free = {
        "metadata", "shares", "usual", "older", "older_known", "companions", "items", "domains", "lines", "begun",
        "places", "measures", "habits", "mix", "dimensions", "against", "drift",
    }  # fmt: skip
    return {name: part if name in free else nested(part, extra) for name, part in value.items()} | extra


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_is_read_and_written_byte_for_byte(name: str) -> None:
    explained = WIRE_CHANGE.format(base=topic_of_example(name).base, file=f"`{name}` in tests/contract/golden.txt")
    try:
        event = read(name)
    except BadRecord as error:
        pytest.fail(f"{explained}\nIt cannot be read any more: {error}")
    assert encode(event) == wire(name), explained


@pytest.mark.parametrize("base", BASES)
def test_examples_use_every_field_so_that_every_field_is_under_contract(base: str) -> None:
    used = [json.loads(wire(name)) for name in EXAMPLES if topic_of_example(name).base == base]

    # A field with its default is left out, and there is one version.
    assert {field for example in used for field in example} == set(TOPICS[base].model.model_fields) - {"schema_version"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_fields_that_we_do_not_know_are_ignored_at_every_level(name: str) -> None:
    newer = nested(json.loads(wire(name)), {"added_in_2031": {"by": ["someone"]}})

    assert encode(decode(topic_of_example(name).model, json.dumps(newer).encode())) == wire(name)


@pytest.mark.parametrize("topic", [t for t in TOPICS.values() if "schema_version" in t.model.model_fields], ids=str)
def test_newer_version_is_told_apart_from_a_broken_record(topic: Topic) -> None:
    newer = {**json.loads(wire(topic.base)), "schema_version": 2}

    with pytest.raises(BadRecord) as caught:
        decode(topic.model, json.dumps(newer).encode())

    assert caught.value.reason == "unknown-version"


class TestStory:
    """What the examples say about each other: the operators of today on the records of then."""

    def test_log_of_then_folds_into_the_skill_of_then(self) -> None:
        """Invariant 1 across releases: if this fails, a rebuild from `skill-diffs` gives users other skills."""
        diff, skill = decode(SkillDiff, wire("skill-diffs")), decode(PolicySkill, wire("skills"))

        assert encode(fold([diff])[diff.user_id, diff.domain]) == encode(skill)
        assert merge(skill, diff) is skill

    def test_log_of_what_she_said_after_folds_into_the_skill_of_after(self) -> None:
        log: list[SkillDiff] = [read("skill-diffs"), *(read(f"after/skill-diffs.{name}") for name in AFTERWARDS)]
        skill = fold(log)["ann-17", "books"]

        assert encode(skill) == wire("after/skills")
        assert slim(skill, gate=OUTPUT_GATE) == read("after/slim-skills")
        assert [diff.trigger and diff.trigger.what for diff in log] == [
            None,
            "rated",
            "abstention",
            *2 * ["correction"],
        ]
        events = [read(name).event_id for name in ("feedback", "abstentions", "corrections")]
        assert [diff.event_id for diff in log[1:4]] == events
        assert all(is_sealed(diff, before.chain) for before, diff in pairwise(log))

    def test_log_of_a_card_folds_into_the_card_of_then_and_of_after(self) -> None:
        """Invariant 1: what is lost of a card is made anew from its log, byte for byte."""
        log: list[CardDiff] = [read("card-diffs"), *(read(f"after/card-diffs.{name}") for name in CARDS_AFTERWARDS)]

        assert encode(fold_cards(log[:1])["ann-17"]) == wire("cards")
        assert encode(fold_cards(log)["ann-17"]) == wire("after/cards")
        assert chain_breaks(log) == [], "each version bears its seal"
        assert {name for line in decode(Card, wire("cards")).lines for name in line.evidence} == {
            read("utterances").event_id
        }
        assert log[2].event_id == read("card-commands").event_id

    def test_a_card_names_its_lines_by_what_they_say_and_those_that_are_past_by_what_overtook_them(self) -> None:
        then, after = decode(Card, wire("cards")), decode(Card, wire("after/cards"))
        ids = [line.line_id for line in (*then.lines, *after.lines, *after.past)]
        overtaken = next(
            change.line
            for change in read("after/card-diffs.overtaken").changes
            if change.kind is CardChangeKind.OVERTAKEN
        )

        assert ids == [
            line_id(line.stance, line.dimension, line.value, line.domain) for line in (*then.lines, *after.lines)
        ] + [overtaken.line_id]
        assert overtaken in after.past

    def test_log_from_before_counts_folds_as_then_and_goes_on_with_counts(self) -> None:
        """Invariant 1 across the change to counts: what a tier was worth is said in the first diff that counts."""
        old = decode(SkillDiff, wire("before/skill-diffs"))
        then = decode(PolicySkill, wire("before/skills"))
        again = decode(Contrast, wire("contrasts")).model_copy(update={"event_id": "another"})

        skill = fold([old])[old.user_id, old.domain]
        diff = resolve_choice(skill, validate(Proposal(), skill, again, privacy=PRIVACY), again)
        after = fold([old, diff])[old.user_id, old.domain]

        assert skill == then
        assert is_sealed(old.model_copy(update={"chain": seal_diff(old, None).chain}), None)
        assert diff.count_delta is not None
        assert set(diff.count_delta.begun) == {line.attribute_id for line in then.attributes}
        assert [line.tier for line in after.attributes[:3]] == [Tier.HIGH, Tier.HIGH, Tier.MEDIUM]
        assert all(line.taken for line in after.attributes)

    def test_dead_letter_holds_the_bytes_as_they_came(self) -> None:
        letter = decode(DeadLetter, wire("dead-letters"))

        assert (letter.key, letter.value) == (b"ann-17", b"\x00\xff{not json>?")
        assert json.loads(wire("dead-letters"))["value"] == "AP97bm90IGpzb24-Pw=="
