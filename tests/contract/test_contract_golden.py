"""One example of every event, byte for byte: records in logs and apps must stay readable.

The invented data tell one story: Ann takes a mystery from a ranking, and her skill learns from it. In `after` she
states a dislike, takes nothing from one list and two items from another.
"""

import json
from itertools import pairwise
from typing import Any

import pytest

from operators.audit import chain_breaks
from operators.cards.fold import fold_cards
from operators.cards.lines import line_id
from operators.evolve.proposals import Proposal, validate
from operators.learning.fold import fold, merge
from operators.learning.update import resolve_choice
from operators.seals import is_sealed, seal_diff
from operators.slim.rules import slim
from schemas import TOPICS, Card, CardChangeKind, CardDiff, Contrast, PolicySkill, SkillDiff, Tier, Topic
from schemas.codec import BadRecord, decode, encode
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.golden import GOLDEN, wire

BASES = sorted(TOPICS)
# Examples of fields and kinds that those of `BASES` lack: after/TOPIC or after/TOPIC.KIND.
EXAMPLES = [*BASES, *sorted(name for name in GOLDEN if name.startswith("after/"))]
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
    """Add unknown fields to every object, except to those whose keys are data."""
    if isinstance(value, list):
        return [nested(entry, extra) for entry in value]
    if not isinstance(value, dict):
        return value
    free = {
        "metadata", "shares", "usual", "older", "older_known", "companions", "items", "domains", "lines", "begun",
        "hypotheses", "seed_hypotheses", "measures", "habits", "mix", "dimensions", "against", "drift", "numbers",
        "moments", "tastes",
    }  # fmt: skip
    return {name: part if name in free else nested(part, extra) for name, part in value.items()} | extra


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_read_and_written_byte_for_byte(name: str) -> None:
    explained = WIRE_CHANGE.format(base=topic_of_example(name).base, file=f"`{name}` in tests/contract/golden.txt")
    try:
        event = read(name)
    except BadRecord as error:
        pytest.fail(f"{explained}\nIt cannot be read any more: {error}")
    assert encode(event) == wire(name), explained


@pytest.mark.parametrize("base", BASES)
def test_examples_use_every_field(base: str) -> None:
    used = [json.loads(wire(name)) for name in EXAMPLES if topic_of_example(name).base == base]

    # A field with its default is left out, and there is one version.
    assert {field for example in used for field in example} == set(TOPICS[base].model.model_fields) - {"schema_version"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_unknown_fields_are_ignored_at_every_level(name: str) -> None:
    newer = nested(json.loads(wire(name)), {"added_in_2031": {"by": ["someone"]}})

    assert encode(decode(topic_of_example(name).model, json.dumps(newer).encode())) == wire(name)


class TestStory:
    def test_the_log_folds_into_the_skill(self) -> None:
        """Invariant 1 across releases: if this fails, a rebuild from `skill-diffs` gives users other skills."""
        diff, skill = decode(SkillDiff, wire("skill-diffs")), decode(PolicySkill, wire("skills"))

        assert encode(fold([diff])[diff.user_id, diff.domain]) == encode(skill)
        assert merge(skill, diff) is skill

    def test_the_log_with_statements_folds_into_the_later_skill(self) -> None:
        log: list[SkillDiff] = [
            read("skill-diffs"),
            *(read(f"after/skill-diffs.{name}") for name in ("rated", "none-taken", "corrected", "said")),
        ]
        skill = fold(log)["ann-17", "books"]

        assert encode(skill) == wire("after/skills")
        assert slim(skill, gate=OUTPUT_GATE) == read("after/slim-skills")
        triggers = [diff.trigger and diff.trigger.what for diff in log]
        assert triggers == [None, "rated", "abstention", "correction", "correction"]
        events = [read(name).event_id for name in ("feedback", "abstentions", "corrections")]
        assert [diff.event_id for diff in log[1:4]] == events
        assert all(is_sealed(diff, before.chain) for before, diff in pairwise(log))

    def test_the_log_of_a_card_folds_into_the_card_and_the_later_card(self) -> None:
        """Invariant 1: a lost card is restored from its log, byte for byte."""
        log: list[CardDiff] = [read("card-diffs"), *(read(f"after/card-diffs.{name}") for name in ("overtaken", "set"))]

        assert encode(fold_cards(log[:1])["ann-17"]) == wire("cards")
        assert encode(fold_cards(log)["ann-17"]) == wire("after/cards")
        assert chain_breaks(log) == [], "each version bears its seal"
        assert {name for line in decode(Card, wire("cards")).lines for name in line.evidence} == {
            read("utterances").event_id
        }
        assert log[2].event_id == read("card-commands").event_id

    def test_line_ids_of_a_card_follow_from_their_words(self) -> None:
        then, after = decode(Card, wire("cards")), decode(Card, wire("after/cards"))
        changes = read("after/card-diffs.overtaken").changes

        for line in (*then.lines, *after.lines):
            assert line.line_id == line_id(line.stance, line.dimension, line.value, line.domain)
        assert [change.line for change in changes if change.kind is CardChangeKind.OVERTAKEN] == list(after.past)

    def test_a_log_without_counts_folds_and_continues_with_counts(self) -> None:
        """Invariant 1 across the change to counts: the first diff with counts records what each tier was worth."""
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
        assert [line.tier for line in after.attributes[:3]] == [Tier.HIGH, Tier.HIGH, Tier.LOW]
        assert all(line.taken for line in after.attributes if line.tier)
