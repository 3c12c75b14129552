"""The privacy policy of domains: facts, titles, wishes, commands and what an app injected."""

import pytest

from operators.contrast import join_ranking, join_selection
from operators.language.privacy import KEEP_ALL, Privacy
from operators.learning.commands import resolve_command
from operators.learning.fold import initial_skill
from operators.options import Category
from schemas.commands import Action, SkillCommand, SkillLineInput
from schemas.events import Injected, Ranking
from schemas.fit import Facet
from schemas.items import Candidate, Fact, ItemFacts
from schemas.state import OptOut
from streams.analytics.rows import read
from streams.language import RULES
from streams.local.demo.catalogue import load
from streams.output_gate import DEFAULT as OUTPUT_GATE
from streams.privacy import DEFAULT, privacy_of
from streams.privacy import DEFAULT as PRIVACY
from streams.settings import Settings
from tests.builders import NOW, a_position, a_ranking, a_selection, open_rankings
from tests.unit.analytics.analytics_builders import record


def test_a_category_stays_out_of_attributes_unless_the_domain_allows_it() -> None:
    item = ItemFacts(
        item_id="i", facts=(Fact(dimension="category", value="Christian Living"), Fact(dimension="genre", value="x"))
    )
    allowing = Privacy(allowed={"restaurants": frozenset({Category.RELIGION})}, redactor=RULES)

    assert [len(p.item(item, "restaurants")[0].facts) for p in (DEFAULT, allowing, KEEP_ALL)] == [1, 2, 2]


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


@pytest.mark.parametrize("wish", OptOut)
def test_a_choice_under_a_wish_is_settled_without_a_contrast_whichever_event_comes_first(wish: OptOut) -> None:
    ranking, selection = a_ranking("r1"), a_selection("r1", "i1")

    def titled(candidate: Candidate) -> ItemFacts:
        return ItemFacts(item_id=candidate.item_id, title="A")

    opened = join_ranking(open_rankings(), ranking, titled, a_position(0), wish=wish).state
    waiting = join_selection(open_rankings(), selection, a_position(0)).state

    assert {item.title for item in opened.rankings[0].candidates} == {""}
    for step in (
        join_selection(opened, selection, a_position(1)),
        join_ranking(waiting, ranking, titled, a_position(1), wish=wish),
    ):
        assert (step.outcome.value, step.contrast, step.refused) == (wish.value, None, ())
        assert (step.state.rankings, step.state.waiting) == ((), ())


def test_a_command_states_nothing_private_and_its_reason_is_redacted() -> None:
    command = SkillCommand(
        event_id="c", occurred_at=NOW, user_id="u", domain="films", action=Action.ADD, actor="ann",
        line=SkillLineInput(dimension="taste", value="gay"), reason="asked by anna@example.org",
    )  # fmt: skip
    diff = resolve_command(initial_skill("u", "films", (), command), command, privacy=PRIVACY, gate=OUTPUT_GATE)
    allowed = resolve_command(
        initial_skill("u", "films", (), command),
        command,
        privacy=Privacy(allowed={"films": frozenset({Category.SEXUALITY})}, redactor=RULES),
        gate=OUTPUT_GATE,
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


def test_a_filter_without_a_redactor_keeps_turns() -> None:
    assert KEEP_ALL.turn("mail anna@example.org").text == "mail anna@example.org"


FACETS = (
    Facet(facet="drawn to noir", confidence=0.5),
    Facet(facet="mail anna@example.org", confidence=0.5),
    Facet(facet="drawn to films about their own lupus", confidence=0.5),
    Facet(facet="a person of taste", confidence=0.5, attribute_id="preference:phone:+49-151-23456789"),
)
INJECTED = Injected(facets=FACETS, slim_skill="likes noir; takes lithium", arm="anna@example.org")


def test_what_an_app_injects_passes_the_same_filter() -> None:
    kept = DEFAULT.injected(INJECTED, "films")

    assert [facet.facet for facet in kept.facets] == ["drawn to noir"]
    assert (kept.slim_skill, kept.arm) == ("likes noir; takes [health]", None)
    assert KEEP_ALL.injected(INJECTED, "films") == INJECTED


def test_no_row_holds_what_was_injected_raw() -> None:
    ranking = Ranking(
        event_id="r", occurred_at=NOW, ranking_id="r", user_id="u", domain="films",
        candidates=(Candidate(item_id="a"),), injected=INJECTED,
    )  # fmt: skip
    put = read(record(ranking), privacy=PRIVACY)

    assert not any(secret in repr(put) for secret in ("anna@", "lithium", "lupus", "23456789"))
