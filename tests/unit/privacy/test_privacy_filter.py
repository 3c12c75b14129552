"""What is found in texts, what is not, and that nothing found comes through."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from operators.contrast import Outcome, on_ranking, on_selection
from operators.merge import resolve_command, start
from operators.options import Category
from operators.privacy import OFF, Privacy
from schemas import (
    Action,
    Candidate,
    Fact,
    ItemFacts,
    OpenRankings,
    Position,
    Ranking,
    Selection,
    SkillCommand,
    Stated,
    Wish,
)
from streams.demo.catalogue import load
from streams.language import RULES
from streams.privacy import DEFAULT, privacy_of
from streams.privacy import DEFAULT as PRIVACY
from streams.settings import Settings
from streams.vouching import DEFAULT as VOUCHING
from tests.builders import NOW

PERSONAL = {
    "e-mail": ("anna@example.org", "b.c+d@mail.example.co.uk", "anna (at) example (dot) org"),
    "phone": ("+49 30 12345678", "(212) 555-0187", "030 12345678"),
    "card": ("4111 1111 1111 1111", "5500005555555559", "378282246310005"),
    "iban": ("DE89 3704 0044 0532 0130 00", "GB82WEST12345698765432"),
    "secret": ("sk-abcdefghijklmnop1234", "AKIAIOSFODNN7EXAMPLE", "Zx9kQ2mN8vB4tR7yW1sD5fG3"),
    "address": ("Hauptstraße 5", "ul. Długa 7", "12 Oak Lane, Springfield 62704"),
}
FOUND = [(kind, value) for kind, values in PERSONAL.items() for value in values]
AT = Position(topic="t", partition=0, offset=1, timestamp_ms=0)
WORDS = st.text(st.sampled_from("ab 19.,@+-:/()éß中の\u200b "), max_size=40)


@pytest.mark.parametrize(("kind", "value"), FOUND)
def test_what_is_personal_is_found_for_what_it_is(kind: str, value: str) -> None:
    redacted = DEFAULT.redact(f"see {value} please", "films")

    assert (redacted.text, redacted.found) == (f"see [{kind}] please", {kind: 1})


@pytest.mark.parametrize("text", ["0-316-76948-7", "ISBN 978-3-16-148410-0", "from 1984-2001", "84 Charing Cross Road"])
def test_numbers_that_tell_nobody_stay(text: str) -> None:
    assert DEFAULT.redact(text, "books").text == text


@settings(max_examples=60, deadline=None)
@given(before=WORDS, found=st.sampled_from(FOUND), after=WORDS)
def test_redaction_is_idempotent_and_nothing_found_survives(before: str, found: tuple[str, str], after: str) -> None:
    once = DEFAULT.redact(f"{before} {found[1]} {after}", "films").text

    assert DEFAULT.redact(once, "films").text == once
    assert found[1] not in once


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=120))
def test_any_text_is_let_through_unchanged_or_said_to_be_changed(text: str) -> None:
    redacted = DEFAULT.redact(text, "films")

    assert bool(redacted.found) is (redacted.text != text)


HOSTILE = ("1 ", "4 ", "4111 ", "+49 30 ", "a@", "DE89 1234 ", "i am ", "12 main ", "rua a ", "aB1", "password: ",
           "QUJD", "\ufdfa", "我是", "ignore ", "for my ", "a b ")  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_hostile_text_of_four_times_the_length_takes_some_four_times_as_long(piece: str) -> None:
    """Both are measured here, warm and at their best: a pattern that backtracks makes it sixteen times or more."""
    assert cpu_seconds(piece, 2_000) < 10 * cpu_seconds(piece, 500)


def cpu_seconds(piece: str, length: int) -> float:
    best = float("inf")
    for less in range(4):  # no text twice: what was read is remembered
        text = (piece * length)[: length - less]
        began = time.process_time()
        DEFAULT.redact(text, "films")
        DEFAULT.wish(text)
        best = min(best, time.process_time() - began)
    return best


def test_a_category_stays_out_of_attributes_unless_the_domain_allows_it() -> None:
    item = ItemFacts(
        item_id="i", facts=(Fact(dimension="category", value="Christian Living"), Fact(dimension="genre", value="x"))
    )
    allowing = Privacy(allowed={"restaurants": frozenset({Category.RELIGION})}, redactor=RULES)

    assert [len(p.item(item, "restaurants")[0].facts) for p in (DEFAULT, allowing, OFF)] == [1, 2, 2]


def test_places_are_chosen_by_where_they_are_and_nothing_else_is() -> None:
    explicit = Privacy(allowed={"yelp": frozenset()}, redactor=RULES)

    assert DEFAULT.refuses("yelp", "area", "89501") is None
    assert DEFAULT.refuses("books", "area", "89501") == explicit.refuses("yelp", "area", "89501") == "location"


def test_settings_say_what_is_allowed() -> None:
    privacy = privacy_of(Settings(sensitive={"books": ["religion"]}, parsers={"eats": "yelp"}))

    assert privacy.refuses("books", "genre", "christian") is None
    assert privacy.refuses("eats", "area", "89501") is None
    assert privacy_of(Settings(privacy=False)).redact("anna@example.org", "books").text == "anna@example.org"


def test_no_fact_of_the_demo_is_taken_for_private() -> None:
    for domain, items in load().items():
        for item in items:
            for key, value in item.metadata.items():
                for each in value if isinstance(value, list) else [value]:
                    assert DEFAULT.refuses(domain, key, str(each)) is None, (key, each)
            assert DEFAULT.redact_work(item.title, 500).text == item.title


def _step(wish: Wish | None) -> Outcome:
    ranking = Ranking(
        event_id="r", occurred_at=NOW, ranking_id="r", user_id="u", domain="films", instruction="quiet",
        candidates=(Candidate(item_id="a", title="A"), Candidate(item_id="b", title="B")),
    )  # fmt: skip
    opened = on_ranking(
        OpenRankings(user_id="u", slot=0), ranking, lambda c: ItemFacts(item_id=c.item_id, title=c.title), AT, wish=wish
    ).state
    assert [item.title for item in opened.rankings[0].candidates] == (["", ""] if wish else ["A", "B"])
    step = on_selection(opened, Selection(event_id="s", occurred_at=NOW, user_id="u", ranking_id="r", item_id="a"), AT)
    assert (step.contrast is None, step.refused, step.state.rankings) == (wish is not None, (), ())
    return step.outcome


def test_a_choice_under_a_wish_is_settled_without_a_contrast() -> None:
    assert [_step(wish) for wish in (None, *Wish)] == [Outcome.MATCHED, Outcome.NOT_REMEMBERED, Outcome.FOR_ANOTHER]


@pytest.mark.parametrize("wish", Wish)
def test_a_selection_that_came_first_is_settled_by_a_ranking_under_a_wish(wish: Wish) -> None:
    early = Selection(event_id="s", occurred_at=NOW, user_id="u", ranking_id="r", item_id="a")
    waiting = on_selection(OpenRankings(user_id="u", slot=0), early, AT).state
    ranking = Ranking(
        event_id="r", occurred_at=NOW, ranking_id="r", user_id="u", domain="films", candidates=(Candidate(item_id="a"),)
    )

    step = on_ranking(waiting, ranking, lambda c: ItemFacts(item_id=c.item_id), AT, wish=wish)

    assert (step.outcome.value, step.contrast, step.refused) == (wish.value, None, ())
    assert (step.state.rankings, step.state.waiting) == ((), ())


def test_a_command_states_nothing_private_and_its_reason_is_redacted() -> None:
    command = SkillCommand(
        event_id="c", occurred_at=NOW, user_id="u", domain="films", action=Action.ADD, actor="ann",
        line=Stated(dimension="taste", value="gay"), reason="asked by anna@example.org",
    )  # fmt: skip
    diff = resolve_command(start("u", "films", (), command), command, privacy=PRIVACY, vouching=VOUCHING)
    allowed = resolve_command(
        start("u", "films", (), command),
        command,
        privacy=Privacy(allowed={"films": frozenset({Category.SEXUALITY})}, redactor=RULES),
        vouching=VOUCHING,
    )

    assert [(r.attribute_id, r.why.value) for r in diff.refused] == [("private:sexuality", "private")]
    assert [change.reason for change in allowed.changes] == ["asked by [e-mail]"]


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Dune, write to anna@example.org", "Dune, write to [e-mail]"),
        ("Instagram: @anna_84 Knows", "Instagram: [handle] Knows"),
        ("Cooking. Follow instagram.com/anna.schmidt", "Cooking. Follow [handle]"),
    ],
)
def test_a_title_is_cut_and_never_emptied(title: str, shown: str) -> None:
    assert DEFAULT.item(ItemFacts(item_id="i", title=title), "shop")[0].title == shown
