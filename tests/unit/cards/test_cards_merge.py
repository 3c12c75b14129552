"""Findings become lines of a card by rule: what is confirmed, overtaken, withdrawn, forgotten, refused."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from operators.cards.fold import apply_diff
from operators.cards.lines import lines_to_forget, match_lines
from operators.cards.merge import merge_extraction
from operators.language.ports import Effect, Extraction, PreferenceFinding
from operators.language.privacy import Privacy
from operators.options import Category
from schemas import MAX_CARD_LINES, Card, CardChangeKind, CardDiff, CardLine, Scope, Stance, Strength, encode
from streams.language import RULES
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import NOW, a_name

PREFERS, AVOIDS = Stance.PREFERS, Stance.AVOIDS
IMPLIED = Strength.IMPLIED


def day(number: float) -> datetime:
    return NOW + timedelta(days=number)


def likes(value: str, at: float = 0, stance: Stance = PREFERS, **kept: Any) -> PreferenceFinding:
    kept.setdefault("words", f"I like {value}" if stance is PREFERS else f"I can't stand {value}")
    kept.setdefault("event_id", a_name("utterance"))
    return PreferenceFinding(stance=stance, value=value, stated_at=day(at), **kept)


def hates(value: str, at: float = 0, **kept: Any) -> PreferenceFinding:
    return likes(value, at, AVOIDS, **kept)


def heard(card: Card | None, *findings: PreferenceFinding, others: int = 0, at: float | None = None) -> CardDiff | None:
    when = max((each.stated_at for each in findings), default=day(0)) if at is None else day(at)
    told = Extraction(findings=findings, of_others=others)
    return merge_extraction(card, "ann", told, a_name("chunk"), when, "talk", None, PRIVACY)


def after(*chunks: PreferenceFinding | list[PreferenceFinding], card: Card | None = None) -> Card:
    for chunk in chunks:
        diff = heard(card, *(chunk if isinstance(chunk, list) else [chunk]))
        card = card if diff is None else apply_diff(card, diff)
    assert card is not None
    return card


def known(card: Card) -> list[str]:
    return [line.line_id for line in card.lines]


def line(card: Card, value: str) -> CardLine:
    return next(each for each in (*card.lines, *card.past) if each.value == value)


def kinds(card: Card) -> list[CardChangeKind]:
    assert card.last_diff is not None
    return [change.kind for change in card.last_diff.changes]


def receipts(diff: CardDiff | None) -> dict[str, int]:
    assert diff is not None
    return {each.kind: each.times for each in diff.not_kept}


def test_statement_is_added_and_its_repeat_confirms_it() -> None:
    card = after(likes("morning runs"), likes("Morning runs!", 3))
    (only,) = card.lines
    assert (only.line_id, only.times, only.weight) == ("prefers:stated:morning-runs", 2, 2048)
    assert (only.since, only.confirmed_at, only.version) == (day(0), day(3), 1)
    assert kinds(card) == [CardChangeKind.CONFIRMED]


def test_hint_counts_half_a_statement() -> None:
    assert after(likes("tea", strength=IMPLIED)).lines[0].weight == 512
    assert line(after(likes("tea", strength=IMPLIED), likes("tea", 1)), "tea").strength is Strength.SAID


def test_opposite_statement_replaces_the_line() -> None:
    card = after(likes("coriander"), hates("coriander", 5))
    assert known(card) == ["avoids:stated:coriander"]
    (past,) = card.past
    assert (past.overtaken_by, past.overtaken_at) == ("avoids:stated:coriander", day(5))


def test_opposite_in_one_domain_keeps_the_general_line() -> None:
    anywhere, in_films = likes("horror"), hates("horror", 5, dimension="genre", domain="films")
    both = ["prefers:stated:horror", "avoids:films:genre:horror"]
    assert known(after(anywhere, in_films)) == both
    assert sorted(known(after(in_films, anywhere))) == sorted(both), "in either order"
    card = after(anywhere, in_films, hates("horror", 9))
    assert known(card) == ["avoids:films:genre:horror", "avoids:stated:horror"], "what holds anywhere ends it"


def test_general_opposite_replaces_the_domain_line() -> None:
    in_films, anywhere = likes("horror", dimension="genre", domain="films"), hates("horror", 5)
    card = after(in_films, anywhere)
    assert known(card) == known(after(anywhere, in_films)) == ["avoids:stated:horror"], "in either order"
    assert card.past[0].overtaken_by == "avoids:stated:horror"


def test_repeat_in_one_domain_confirms_the_general_line() -> None:
    anywhere, in_films = likes("horror"), likes("horror", 5, dimension="genre", domain="films")
    assert known(after(anywhere, in_films)) == ["prefers:stated:horror", "prefers:films:genre:horror"]


def test_update_replaces_the_named_line() -> None:
    update = likes("green tea", 4, effect=Effect.UPDATES, replaces="strong black coffee")
    card = after(likes("black coffee"), update)
    assert known(card) == ["prefers:stated:green-tea"]
    assert card.past[0].overtaken_by == "prefers:stated:green-tea"


def test_private_update_still_ends_the_replaced_line() -> None:
    card = after(likes("red wine"), likes("insulin", 2, effect=Effect.UPDATES, replaces="red wine"))
    assert not card.lines
    assert card.past[0].overtaken_by is None
    assert receipts(card.last_diff) == {"health": 1}


def test_withdrawn_line_has_no_successor() -> None:
    card = after(likes("jazz clubs"), likes("jazz clubs", 2, effect=Effect.WITHDRAWS))
    assert not card.lines
    assert (card.past[0].overtaken_at, card.past[0].overtaken_by) == (day(2), None)
    assert not heard(card, likes("jazz clubs", 1)), "late news does not bring it back"
    assert known(after(likes("jazz clubs", 3), card=card)) == ["prefers:stated:jazz-clubs"]


def test_withdrawing_a_preference_keeps_the_avoidance() -> None:
    card = after(hates("jazz"))
    assert heard(card, likes("jazz", 2, effect=Effect.WITHDRAWS)) is None


def test_several_hints_outweigh_one_statement() -> None:
    card = after(likes("meat"), hates("meat", 1, strength=IMPLIED))
    assert known(card) == ["prefers:stated:meat"]
    assert kinds(card) == [CardChangeKind.CONTRADICTED]
    card = after(hates("meat", 2, strength=IMPLIED), card=card)
    assert known(card) == ["avoids:stated:meat"]


@pytest.mark.parametrize("kept", [{"pinned": True}, {"strength": Strength.SET}])
def test_hints_never_replace_pinned_or_set_lines(kept: dict[str, Any]) -> None:
    card = after(likes("meat"))
    card = card.model_copy(update={"lines": (card.lines[0].model_copy(update=kept),)})
    for at in range(1, 20):
        card = after(hates("meat", at, strength=IMPLIED), card=card)
    assert known(card) == ["prefers:stated:meat"]
    assert heard(card, likes("meat", 30, strength=IMPLIED, effect=Effect.WITHDRAWS)) is None
    assert known(after(hates("meat", 40), card=card)) == ["avoids:stated:meat"]


def test_word_order_does_not_make_a_new_line() -> None:
    card = after(likes("morning runs"), likes("runs in the morning", 1))
    assert known(card) == ["prefers:stated:morning-runs"]
    assert card.lines[0].times == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("coffee with milk", "coffee without milk"),
        ("films under 90 minutes", "films under 120 minutes"),
        ("chocolate", "white chocolate"),
        ("dark chocolate", "Belgian dark chocolate"),
        ("horror films", "horror books"),
        ("Filme ohne Gewalt", "Filme mit Gewalt"),
    ],
)
def test_lines_with_different_keywords_stay_separate(one: str, other: str) -> None:
    assert len(after(likes(one), likes(other)).lines) == 2


def test_vocabulary_value_absorbs_the_same_free_words() -> None:
    card = after(likes("horror", domain="films"), likes("horror", 1, dimension="genre", domain="films"))
    assert known(card) == ["prefers:films:genre:horror"]


def test_forget_request_erases_the_line_and_its_quotations() -> None:
    card = after(
        likes("jazz", words="I love jazz and blues"),
        likes("blues", words="I love jazz and blues"),
        likes("old jazz records"),
        hates("jazz", 1),
        likes("jazz", 2, effect=Effect.FORGETS),
    )
    assert known(card) == ["prefers:stated:blues"]
    assert not card.past
    kept = encode(card.model_copy(update={"last_diff": None})).decode()
    assert "jazz" not in kept
    assert line(card, "blues").words == ""
    gone = [change for change in card.last_diff.changes if change.line is None] if card.last_diff else []
    assert {change.kind for change in gone} == {CardChangeKind.FORGOTTEN}
    assert all("jazz" not in change.reason for change in gone)


def test_value_forgotten_in_the_same_chunk_is_never_added() -> None:
    diff = heard(None, likes("jazz", 0), likes("tea", 0), likes("jazz", 1, effect=Effect.FORGETS))
    assert receipts(diff) == {"forgotten": 1}
    assert "jazz" not in encode(diff).decode() if diff else False
    said = likes("jazz", 2, effect=Effect.FORGETS, event_id="u1")
    diff = heard(None, said, likes("jazz", 2, event_id="u1"))
    assert diff is not None
    assert not diff.changes


def test_forget_request_for_an_unknown_value_is_counted() -> None:
    diff = heard(after(likes("tea")), likes("my diabetes", effect=Effect.FORGETS))
    assert receipts(diff) == {"forgotten": 1}
    assert diff is not None
    assert not diff.changes
    assert "diabetes" not in encode(diff).decode()


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("insulin in the morning", "health"),
        ("anna@example.org", "e-mail"),
        ("mosque on Fridays", "religion"),
        ("", "unreadable"),
    ],
)
def test_rejected_value_is_counted_without_a_quotation(value: str, kind: str) -> None:
    diff = heard(None, likes(value))
    assert receipts(diff) == {kind: 1}
    assert diff is not None
    assert not diff.changes
    assert not value or value not in encode(diff).decode()


def test_card_ignores_the_exceptions_of_single_domains() -> None:
    allows = Privacy(allowed={"food": frozenset({Category.HEALTH}), "": frozenset({Category.HEALTH})}, redactor=RULES)
    told = Extraction(findings=(likes("insulin", domain="food"),))
    diff = merge_extraction(None, "ann", told, "chunk", day(0), None, None, allows)
    assert receipts(diff) == {"health": 1}


def test_private_quotation_is_dropped_entirely() -> None:
    card = after(likes("dates", words="As a diabetic I like dates"))
    assert card.lines[0].words == ""


def test_momentary_and_third_party_findings_change_no_card() -> None:
    assert heard(None, likes("tea", scope=Scope.NOW), likes("rum", scope=Scope.SESSION)) is None
    assert receipts(heard(None, others=2)) == {"other-person": 2}


def test_least_certain_line_is_evicted_first() -> None:
    card = after([likes(f"taste{at} thing{at}", strength=IMPLIED if at == 7 else Strength.SAID) for at in range(40)])
    assert len(card.lines) == MAX_CARD_LINES
    card = after(likes("tea"), card=card)
    assert len(card.lines) == MAX_CARD_LINES
    assert "prefers:stated:taste7-thing7" not in known(card)
    assert card.past[-1].value == "taste7 thing7"
    card = after(likes("rum", strength=IMPLIED), card=card)
    assert "prefers:stated:rum" not in known(card), "the new one, where it is the least"


def test_lines_fade_by_event_time() -> None:
    card = after(likes("tea", strength=IMPLIED), likes("rum", 900))
    assert known(card) == ["prefers:stated:rum"]
    assert CardChangeKind.FADED in kinds(card)


def test_few_words_match_the_closest_line() -> None:
    lines = after(likes("morning runs"), likes("strong coffee"), likes("iced coffee")).lines
    assert [each.value for each in match_lines("the runs in the morning", lines)] == ["morning runs"]
    assert [each.value for each in lines_to_forget("that I like coffee", lines)] == ["strong coffee", "iced coffee"]


def test_paraphrase_is_enough_to_forget() -> None:
    said = likes("independent investigative journalism", words="I follow independent investigative journalism daily")
    card = after(said, likes("tea"))
    wish = likes("independent journalism as a news source", 3, effect=Effect.FORGETS)
    assert known(after(wish, card=card)) == ["prefers:stated:tea"]
