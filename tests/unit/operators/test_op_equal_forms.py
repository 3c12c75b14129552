"""Quick forms say the same as the plain ones that they stand for; what a choice calls stays few."""

import math
from collections import Counter
from datetime import MAXYEAR, UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from benchmarks.choice import calls
from operators.attributes import fact_id
from operators.contrast import RingLimits, on_ranking, slot_of
from operators.evolve import RulesReasoner
from operators.evolve.choice import Choice
from operators.evolve.reasoners import CONTRADICTABLE
from operators.render import characters, fits, render_lines, strategy_of
from operators.vouch import Vouching
from schemas import Attribute, Contrast, Evidence, Fact, Kind, OpenRankings, Tier, decode, encode
from schemas.fields import (
    MAX_METADATA_CHARS,
    MAX_METADATA_DEPTH,
    MAX_METADATA_INT,
    MAX_METADATA_NODES,
    MIN_METADATA_INT,
    Metadata,
    UtcDatetime,
)
from streams.language import RULES
from tests.builders import NOW, a_contrast, a_position, a_ranking, a_skill, an_attribute, read_item

WORDS = (
    "noir",
    "neo  noir",
    "a rather long value of many words that no line of a document can show",
    "ﬁlm",
    "漢字",
    "obey",
)
DIMENSIONS = ("genre", "mood", "director", "exploration", "era")
facts = st.builds(Fact, dimension=st.sampled_from(DIMENSIONS), value=st.sampled_from(WORDS))
lines = st.lists(
    st.builds(
        an_attribute,
        st.builds("{}: {}".format, st.sampled_from(DIMENSIONS), st.sampled_from(WORDS)),
        st.sampled_from(Tier),
        kind=st.sampled_from(Kind),
        support=st.integers(0, 5),
        confirmed_at=st.integers(0, 9),
        pinned=st.booleans(),
        evidence=st.lists(st.builds(Evidence, event_id=st.just("e"), item_id=st.sampled_from("abc")), max_size=3),
    ),
    max_size=12,
    unique_by=lambda line: line.attribute_id,
)
items = st.lists(facts, max_size=6).map(lambda found: [f"{fact.dimension}: {fact.value}" for fact in found])
contrasts = st.builds(a_contrast, items, st.lists(items, max_size=6))

within = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)),
    max_leaves=20,
)
METADATA: TypeAdapter[dict[str, Any]] = TypeAdapter(Metadata)
MOMENT: TypeAdapter[datetime] = TypeAdapter(UtcDatetime)


def is_bounded(metadata: dict[str, Any]) -> bool:
    """One value after the other: at most so many, with so many characters, so deep, and finite numbers of 64 bits."""
    nodes, chars = 1, 0
    waiting: list[tuple[Any, int]] = [(metadata, 0)]
    while waiting:
        value, depth = waiting.pop()
        inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
        nodes += len(inner)
        chars += len(value) if isinstance(value, str) else sum(map(len, value)) if isinstance(value, dict) else 0
        if isinstance(value, float) and not math.isfinite(value):
            return False
        if isinstance(value, int) and not MIN_METADATA_INT <= value <= MAX_METADATA_INT:
            return False
        if nodes > MAX_METADATA_NODES or chars > MAX_METADATA_CHARS or depth > MAX_METADATA_DEPTH:
            return False
        waiting += [(part, depth + 1) for part in inner]
    return True


@given(st.dictionaries(st.text(max_size=4), within, max_size=5), st.integers(0, 8), st.integers(1, 3_000))
@example({}, 4, 1)
@example({}, 5, 1)
@example({"a": "x" * (MAX_METADATA_CHARS - 9)}, 0, 1)
@example({"a": "x" * (MAX_METADATA_CHARS - 8)}, 0, 1)
@example({"a": MAX_METADATA_INT}, 0, 1)
@example({"a": MAX_METADATA_INT + 1}, 0, 1)
@example({"a": MIN_METADATA_INT - 1}, 0, 1)
@example({"a": math.inf}, 0, 1)
@example({"a": math.nan}, 0, 1)
def test_metadata_is_bounded_as_value_by_value(inner: dict[str, Any], depth: int, width: int) -> None:
    metadata: Any = inner
    for _ in range(depth):
        metadata = [metadata]
    whole = {"depth": metadata, "wid": [1] * width}

    try:
        METADATA.validate_python(whole)
        taken = True
    except ValidationError:
        taken = False

    assert taken is is_bounded(whole)


class Text(str):
    """A text as some libraries have them."""

    __slots__ = ()


@pytest.mark.parametrize("good", [Text("a"), [Text("a")], float("1"), True])
def test_metadata_takes_texts_and_numbers_of_other_classes(good: Any) -> None:
    assert METADATA.validate_python({"a": good}) == {"a": good}


@pytest.mark.parametrize("bad", [{"a": b"bytes"}, {"a": {1: 2}}, {"a": [NOW]}, {"a": (1,)}])
def test_metadata_takes_nothing_but_json(bad: Any) -> None:
    with pytest.raises(ValidationError):
        METADATA.validate_python(bad)


@given(st.datetimes(), st.integers(-23, 23))
def test_moment_is_written_in_utc_with_microseconds(naive: datetime, hours: int) -> None:
    assume(1 < naive.year < MAXYEAR)
    moment = naive.replace(tzinfo=timezone(timedelta(hours=hours)))
    plain = moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

    assert MOMENT.dump_json(moment).decode() == f'"{plain}"'
    assert MOMENT.dump_json(MOMENT.validate_python(moment)).decode() == f'"{plain}"'


@given(lines, st.integers(0, 3))
def test_copy_of_a_model_is_pydantics(attributes: list[Attribute], version: int) -> None:
    skill = a_skill(*attributes)

    for update in ({"version": version}, {"strategy": strategy_of(attributes), "recent": ("a",)}, {}, None):
        copied, plain = skill.model_copy(update=update), BaseModel.model_copy(skill, update=update)
        assert copied == plain
        assert copied.__dict__ == plain.__dict__
        assert copied.model_fields_set == plain.model_fields_set
        assert encode(copied) == encode(plain)
    assert skill == a_skill(*attributes)
    assert skill.model_copy(deep=True).attributes is not skill.attributes or not attributes


@given(lines)
def test_characters_of_a_skill_are_those_of_its_document(attributes: list[Attribute]) -> None:
    strategy = strategy_of(attributes)

    length = len(render_lines(attributes, strategy))
    assert characters(attributes, strategy) == length
    assert [most for most in range(0, 3_000, 7) if fits(attributes, most)] == [*range(-(-length // 7) * 7, 3_000, 7)]


@given(lines, st.booleans())
def test_line_is_held_as_its_words_and_items_are(attributes: list[Attribute], by_shape: bool) -> None:
    gate = Vouching(by_shape=by_shape, policy=RULES)

    assert gate.let_out(attributes) == [
        line
        for line in attributes
        if line.tier is not Tier.SILENT and gate.held(line.dimension, line.value, gate.items_of(line)) is None
    ]


@given(contrasts, lines)
def test_choice_is_counted_and_weakens_as_by_sets(contrast: Contrast, attributes: list[Attribute]) -> None:
    skill, reasoner, choice = a_skill(*attributes), RulesReasoner(), Choice.of(contrast)
    seen = Counter(name for item in contrast.unchosen for name in {fact_id(fact) for fact in item.facts})
    near = {fact_id(fact) for item in contrast.unchosen[-reasoner.near_misses :] for fact in item.facts}
    loyal = {line.dimension for line in attributes if line.attribute_id in choice.facts}
    spoken = {fact.dimension for fact in choice.facts.values()}
    weakened = [
        line.attribute_id
        for line in attributes
        if line.dimension in (CONTRADICTABLE & spoken) - loyal
        and line.tier >= Tier.MEDIUM
        and line.attribute_id in near
        and seen[line.attribute_id] >= reasoner.offers
    ]

    assert choice.seen == seen
    assert choice.facts == {fact_id(fact): fact for fact in contrast.chosen.facts}
    assert choice.share == {name: seen[name] / max(1, len(contrast.unchosen)) for name in choice.facts}
    habits = {line.attribute_id for line in attributes if line.kind is Kind.PATTERN}
    assert [name for name in reasoner.propose(contrast, skill).weakened if name not in habits] == [
        name for name in weakened if name not in habits
    ]


@given(contrasts)
def test_contrast_reads_back_as_it_was_made(contrast: Contrast) -> None:
    """So that whoever made one need not read it."""
    assert encode(contrast) == contrast.model_dump_json().encode()
    assert decode(Contrast, encode(contrast)) == contrast


@given(st.integers(1, 6), st.integers(300, 3_000))
def test_rankings_in_a_slot_are_measured_once_there_are_two(many: int, size_bytes: int) -> None:
    names = [name for name in map("r{}".format, range(400)) if slot_of(name) == 0][:many]
    state, limits = OpenRankings(user_id="ann", slot=0), RingLimits(size_bytes=size_bytes)

    for offset, name in enumerate(names):
        state = on_ranking(state, a_ranking(name), read_item, a_position(offset), limits).state

    sizes = [len(encode(each.model_copy(update={"size_bytes": 0}))) for each in state.rankings]
    assert [each.size_bytes for each in state.rankings] == (sizes if many > 1 else [0])
    assert len(sizes) == 1 or sum(sizes) <= size_bytes
    assert state.rankings[-1].ranking_id == names[-1]


def test_choice_calls_few_functions_and_converts_few_records(tmp_path: Path) -> None:
    """Guards the CPU of a choice by a count that is the same on every machine.

    It was 1,880 calls of Python functions, 1,580 of C and 36 conversions before they were made fewer. What a list asks
    about habits takes 150 and 250 of them, what may be left out of a record 150 of C.
    """
    calls(4, 2, tmp_path)  # whatever a process reads, parses or judges once

    made = calls(4, 2, tmp_path)

    assert made["python"] < 1_600
    assert made["c"] < 2_000
    # A ranking and a selection are decoded; what the worker has made itself is not.
    assert made["validate_json"] <= 2
    # Rings twice, the contrast, the skill, its diff, and a slim skill where it says something new.
    assert made["to_json"] < 10
    assert made["validate_python"] < 32
    assert made["to_python"] <= 2
