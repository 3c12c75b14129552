"""What people say, heard and put on a card: nothing private stands in the diff or in the card."""

from collections.abc import Iterator

import pytest

from operators.cards.fold import apply_diff
from operators.cards.merge import merge_extraction
from operators.language.ports import Extraction, PreferenceFinding
from schemas import encode
from schemas.cards import Turn
from schemas.corrections import Speaker
from schemas.statements import Stance
from streams.language import RULES
from streams.privacy import DEFAULT
from tests.builders import NOW
from tests.language_samples import Utterance, leaks, left, redacted, utterances

PRIVATE = utterances("private")
HARMLESS = utterances("harmless")


def turns_of(said: Utterance) -> list[Turn]:
    asked = [Turn(event_id="q", turn=0, role=Speaker.ASSISTANT, text=said.before, stated_at=NOW)] if said.before else []
    return [
        *asked,
        Turn(event_id="e", turn=1, role=Speaker.USER, text=redacted(said), language=said.language, stated_at=NOW),
    ]


def written(heard: Extraction) -> str:
    diff = merge_extraction(None, "ann", heard, "e", NOW, "c", None, DEFAULT)
    return "" if diff is None else (encode(diff) + encode(apply_diff(None, diff))).decode()


def by_rules(said: Utterance) -> str:
    return written(RULES.extract(turns_of(said), None, lambda _domain: ()))


def test_by_rules_nothing_private_reaches_a_card() -> None:
    assert leaks(PRIVATE, by_rules) == []


def test_tastes_in_them_do_reach_cards() -> None:
    """A filter that lets nothing through would pass the test above: in English and German, rules hear what is liked."""
    told = [said for said in (*PRIVATE, *HARMLESS) if said.language in {"en", "de"} and '"line"' in by_rules(said)]

    assert len(told) > 30


def clauses(text: str) -> Iterator[str]:
    yield text
    for part in text.replace(";", ",").replace(".", ",").split(","):
        if part.strip():
            yield part.strip()[:100]


def quoting_all(said: Utterance, text: str) -> str:
    """A model that quotes every clause as a taste."""
    findings = tuple(
        PreferenceFinding(stance=Stance.PREFERS, value=part[:100], words=text[:300], event_id="e", stated_at=NOW)
        for part in clauses(text)
    )
    return written(Extraction(findings[:64]))


def test_a_model_that_quotes_everything_brings_nothing_private_either() -> None:
    assert leaks(PRIVATE, lambda said: quoting_all(said, redacted(said))) == []


@pytest.mark.parametrize("kind", ["passport", "tax", "licence", "bank", "insurance", "social", "id"])
def test_merging_keeps_no_number_whose_turn_was_not_redacted(kind: str) -> None:
    """Both filters have to fail: the value beside its words says what the number is."""
    # The first filter reads through invisible characters; this one sees them as spaces.
    said = [each for each in PRIVATE if each.kind == kind and not each.before and each.text.isprintable()]

    assert [each.id for each in said if left(each, quoting_all(each, each.text))] == []
