"""The privacy policy of domains: facts, titles, wishes, commands and what an app injected."""

from collections.abc import Iterator

import pytest

from operators.cards.fold import apply_diff
from operators.cards.merge import merge_extraction
from operators.contrast import join_ranking, join_selection
from operators.language.ports import Extraction, PreferenceFinding
from operators.language.privacy import KEEP_ALL, Privacy
from operators.learning.commands import resolve_command
from operators.learning.fold import initial_skill
from operators.options import Category
from schemas import Candidate, Facet, Fact, Injected, ItemFacts, OptOut, Ranking, Speaker, Stance, Turn, encode
from schemas.commands import Action, SkillCommand, SkillLineInput
from streams.analytics.rows import read
from streams.language import RULES
from streams.local.demo.catalogue import load
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY, privacy_of
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from streams.settings import Settings
from tests.builders import NOW, a_position, a_ranking, a_selection, open_rankings
from tests.language_samples import Utterance, leaks, left, redacted, utterances
from tests.unit.analytics.analytics_builders import record


def test_sensitive_category_needs_permission_of_the_domain() -> None:
    item = ItemFacts(
        item_id="i", facts=(Fact(dimension="category", value="Christian Living"), Fact(dimension="genre", value="x"))
    )
    allowing = Privacy(allowed={"restaurants": frozenset({Category.RELIGION})}, redactor=RULES)

    assert [len(p.item(item, "restaurants")[0].facts) for p in (DEFAULT_PRIVACY, allowing, KEEP_ALL)] == [1, 2, 2]


def test_only_place_domains_learn_locations() -> None:
    explicit = Privacy(allowed={"yelp": frozenset()}, redactor=RULES)

    assert DEFAULT_PRIVACY.refuses("yelp", "area", "89501") is None
    assert DEFAULT_PRIVACY.refuses("books", "area", "89501") == explicit.refuses("yelp", "area", "89501") == "location"


def test_settings_configure_allowed_categories() -> None:
    privacy = privacy_of(Settings(sensitive={"books": ["religion"]}, parsers={"eats": "yelp"}))

    assert privacy.refuses("books", "genre", "christian") is None
    assert privacy.refuses("eats", "area", "89501") is None
    assert privacy_of(Settings(privacy=False)).redact("anna@example.org", "books").text == "anna@example.org"


def test_demo_facts_are_not_private() -> None:
    for domain, items in load().items():
        for item in items:
            for key, value in item.metadata.items():
                for each in value if isinstance(value, list) else [value]:
                    assert DEFAULT_PRIVACY.refuses(domain, key, str(each)) is None, (key, each)
            assert DEFAULT_PRIVACY.redact_work(item.title, 500).text == item.title


@pytest.mark.parametrize("wish", OptOut)
def test_opted_out_choice_makes_no_contrast_in_any_order(wish: OptOut) -> None:
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


def test_command_with_private_data_is_refused() -> None:
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
def test_title_is_shortened_but_never_empty(title: str, shown: str) -> None:
    assert DEFAULT_PRIVACY.item(ItemFacts(item_id="i", title=title), "shop")[0].title == shown


def test_policy_without_a_redactor_keeps_turns() -> None:
    assert KEEP_ALL.turn("mail anna@example.org").text == "mail anna@example.org"


FACETS = (
    Facet(facet="drawn to noir", confidence=0.5),
    Facet(facet="mail anna@example.org", confidence=0.5),
    Facet(facet="drawn to films about their own lupus", confidence=0.5),
    Facet(facet="a person of taste", confidence=0.5, attribute_id="preference:phone:+49-151-23456789"),
)
INJECTED = Injected(facets=FACETS, slim_skill="likes noir; takes lithium", arm="anna@example.org")


def test_injected_text_is_filtered() -> None:
    kept = DEFAULT_PRIVACY.injected(INJECTED, "films")

    assert [facet.facet for facet in kept.facets] == ["drawn to noir"]
    assert (kept.slim_skill, kept.arm) == ("likes noir; takes [health]", None)
    assert KEEP_ALL.injected(INJECTED, "films") == INJECTED


def test_rows_contain_no_raw_injected_text() -> None:
    ranking = Ranking(
        event_id="r", occurred_at=NOW, ranking_id="r", user_id="u", domain="films",
        candidates=(Candidate(item_id="a"),), injected=INJECTED,
    )  # fmt: skip
    put = read(record(ranking), privacy=PRIVACY)

    assert not any(secret in repr(put) for secret in ("anna@", "lithium", "lupus", "23456789"))


PRIVATE = utterances("private")
HARMLESS = utterances("harmless")


def turns_of(said: Utterance) -> list[Turn]:
    asked = [Turn(event_id="q", turn=0, role=Speaker.ASSISTANT, text=said.before, stated_at=NOW)] if said.before else []
    return [
        *asked,
        Turn(event_id="e", turn=1, role=Speaker.USER, text=redacted(said), language=said.language, stated_at=NOW),
    ]


def written(heard: Extraction) -> str:
    diff = merge_extraction(None, "ann", heard, "e", NOW, "c", None, DEFAULT_PRIVACY)
    return "" if diff is None else (encode(diff) + encode(apply_diff(None, diff))).decode()


def by_rules(said: Utterance) -> str:
    return written(RULES.extract(turns_of(said), None, lambda _domain: ()))


def test_rules_keep_private_data_off_cards() -> None:
    assert leaks(PRIVATE, by_rules) == []


def test_tastes_beside_private_data_reach_cards() -> None:
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


def test_model_that_quotes_everything_adds_nothing_private() -> None:
    assert leaks(PRIVATE, lambda said: quoting_all(said, redacted(said))) == []


@pytest.mark.parametrize("kind", ["passport", "tax", "licence", "bank", "insurance", "social", "id"])
def test_merge_rejects_unredacted_numbers(kind: str) -> None:
    """Both filters have to fail: the value beside its words says what the number is."""
    # The first filter reads through invisible characters; this one sees them as spaces.
    said = [each for each in PRIVATE if each.kind == kind and not each.before and each.text.isprintable()]

    assert [each.id for each in said if left(each, quoting_all(each, each.text))] == []
