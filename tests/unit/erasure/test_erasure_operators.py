"""Forgetting as pure functions: what a receipt covers, and state without one line."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from operators import erasure
from operators.admission import abstention_id, contrast_id
from operators.attributes import fact_id
from operators.audit import chain_breaks
from operators.erasure import StoredState, restorable, scrub_memory, scrub_profile, with_scope, without_erased_facts
from operators.evolve.proposals import Proposal, ValidatedProposal
from operators.graph.items import (
    add_taken,
    add_touch,
    forget_taker,
    forgotten_touch,
    neighbour_of,
    takers_of,
    touch_items,
)
from operators.learning.commands import resolve_command
from operators.learning.fold import fold, initial_skill, next_diff
from operators.learning.prior import observe
from operators.learning.update import resolve_choice
from operators.redaction import names_line, placeholder, redact_skill_log
from operators.seals import seal_diff
from operators.steps.evolve import EvolveState, EvolveStep
from schemas import AnsweredRanking, Attribute, Evidence, Fact, ItemFacts, Judgement, OpenRankings, Verdict
from schemas.codec import encode, line_digest, subject_digest
from schemas.commands import MAX_DOMAINS, MAX_LINES, Action, ErasedScope, ForgetRequest, Receipt
from schemas.events import Facet
from schemas.state import OpenRanking
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.builders import DOMAIN, NOW, USER, a_command, a_contrast, an_attribute, an_interaction

NOIR, SAGA = Fact(dimension="genre", value="noir"), Fact(dimension="genre", value="saga")
LINE = line_digest(USER, DOMAIN, fact_id(NOIR))
START = datetime(2026, 1, 1, tzinfo=UTC)
SLIM = EvolveStep(slim_tokens=30, privacy=PRIVACY, gate=OUTPUT_GATE)
EMPTY = Receipt(event_id="none", occurred_at=START, subject=subject_digest(USER))


def asked(number: int, domain: str | None, line: str | None) -> tuple[ForgetRequest, ErasedScope]:
    at = START + timedelta(hours=number)
    request = ForgetRequest(
        event_id=f"r{number}", occurred_at=at, user_id=USER, domain=domain, line=line, actor="advocate"
    )
    return request, ErasedScope(event_id=f"r{number}", until=at, actor="advocate", done=True)


SCOPES = st.lists(
    st.tuples(st.none() | st.sampled_from(["books", "films"]), st.booleans(), st.integers(0, 400)), max_size=400
)


@given(SCOPES)
def test_receipt_covers_every_requested_scope(scopes: list[tuple[str | None, bool, int]]) -> None:
    receipt, told = EMPTY, []
    for number, (domain, is_line, which) in enumerate(scopes):
        line = line_digest(USER, domain, f"a:b:{which}") if is_line and domain else None
        request, scope = asked(number, domain, line)
        receipt = with_scope(receipt, request, scope)
        told.append((domain, line, scope.until))
    for domain, line, until in told:
        if line is None:
            assert receipt.covers(domain or "music", until)
        else:
            assert receipt.covers_line(line, until) or receipt.covers(domain, until)
    assert len(receipt.lines) <= MAX_LINES
    assert len(receipt.domains) <= MAX_DOMAINS
    assert USER not in encode(receipt).decode()


def test_many_erased_lines_do_not_erase_the_person() -> None:
    receipt, lines = EMPTY, [line_digest(USER, DOMAIN, f"a:b:{number}") for number in range(2 * MAX_LINES)]
    for number, line in enumerate(lines):
        receipt = with_scope(receipt, *asked(number, DOMAIN, line))
    assert (receipt.person, len(receipt.lines)) == (None, MAX_LINES)
    assert all(receipt.covers_line(line, START + timedelta(hours=number)) for number, line in enumerate(lines))
    assert not receipt.covers_line(LINE, START + timedelta(hours=MAX_LINES + 1))


def test_receipt_does_not_cover_later_events() -> None:
    receipt = with_scope(EMPTY, *asked(5, "books", None))

    assert receipt.covers("books", START + timedelta(hours=5))
    assert not receipt.covers("books", START + timedelta(hours=6))
    assert not receipt.covers("films", START)
    assert not receipt.covers(None, START), "of which domain it is, is not known"


def test_erased_fact_is_removed_from_older_choices() -> None:
    receipt = with_scope(EMPTY, *asked(5, DOMAIN, LINE))
    item = ItemFacts(item_id="i", title="", facts=(NOIR, SAGA))

    assert without_erased_facts(item, USER, DOMAIN, receipt, START) == item.model_copy(update={"facts": (SAGA,)})
    assert without_erased_facts(item, USER, DOMAIN, receipt, START + timedelta(hours=6)) == item
    assert without_erased_facts(item, "bob", DOMAIN, receipt, START) == item


@given(st.lists(st.sampled_from([(NOIR,), (SAGA,), (NOIR, SAGA), ()]), min_size=1, max_size=30))
def test_erasure_removes_a_line_from_profile_and_memory(choices: list[tuple[Fact, ...]]) -> None:
    profile, memory = None, None
    for number, facts in enumerate(choices):
        profile = observe(profile, an_interaction(), facts)
        item = ItemFacts(item_id=f"i{number}", title="", facts=facts)
        memory = add_taken(memory, USER, DOMAIN, item, NOW, f"e{number}")
    assert profile is not None
    assert memory is not None

    assert "noir" not in encode(scrub_profile(profile, LINE)).decode()
    assert scrub_profile(profile, LINE).interactions == profile.interactions
    assert "noir" not in encode(scrub_memory(memory, LINE)).decode()
    assert [each.item_id for each in scrub_memory(memory, LINE).taken] == [each.item_id for each in memory.taken]


ACTIONS = st.lists(
    st.tuples(st.sampled_from([*Action]), st.sampled_from(["genre: noir", "genre: saga", "mood: dark"])), max_size=12
)


@given(ACTIONS)
def test_redacted_log_folds_to_the_same_skill_without_its_words(actions: list[tuple[Action, str]]) -> None:
    skill, log = initial_skill(USER, DOMAIN, (an_attribute("genre: noir"), an_attribute("mood: dark")), a_command()), []
    for action, text in actions:
        diff = resolve_command(
            skill, a_command(action, text, reason="noir is what I said"), privacy=PRIVACY, gate=OUTPUT_GATE
        )
        log.append(SLIM.version(EvolveState(skill), diff).diff)
        skill = fold(log)[USER, DOMAIN]
    again = redact_skill_log(log, LINE)

    told = "".join(encode(diff).decode() for diff in again)
    assert f'{fact_id(NOIR)}"' not in told
    assert '"noir"' not in told
    assert "what I said" not in told, "the reason for another line may be about this one"
    assert all(fact_id(NOIR) not in (diff.slim_lines or ()) for diff in again)
    assert [diff.version for diff in again] == [diff.version for diff in log]
    if log:
        known = {line.attribute_id: line for line in fold(again)[USER, DOMAIN].attributes}
        held = {line.attribute_id: line for line in skill.attributes}
        assert set(known) == {placeholder(LINE) if name == fact_id(NOIR) else name for name in held}
        assert [a for name, a in known.items() if name in held] == [a for name, a in held.items() if name in known]
    assert redact_skill_log(again, LINE) == [diff.model_copy(update={"rewritten": 2}) for diff in again]


def test_redacted_log_has_no_judgement_quotation_or_refused_statement_of_the_line() -> None:
    noir, dark = an_attribute("genre: noir"), an_attribute("mood: dark")
    begun = initial_skill(USER, DOMAIN, (noir, dark), a_command())
    quoting = [
        (Judgement(attribute_id=noir.attribute_id, verdict=Verdict.UNRELATED),),
        (Judgement(attribute_id=dark.attribute_id, verdict=Verdict.SUPPORTS, quoted=NOIR),),
        (Judgement(attribute_id=dark.attribute_id, verdict=Verdict.SUPPORTS, quoted=SAGA),),
    ]
    log, skill = [], begun
    for version, judged in enumerate(quoting, 1):
        event = a_command(Action.FREEZE).model_copy(update={"event_id": f"c{version}"})
        log.append(next_diff(skill, event, evidence=Evidence(event_id="c"), judged=judged, analysis="noir, plainly"))
        skill = fold(log)[USER, DOMAIN]
    pin = a_command(Action.PIN, attribute_id=f"avoids:{noir.attribute_id}", event_id="c4")
    log.append(resolve_command(skill, pin, privacy=PRIVACY, gate=OUTPUT_GATE))
    assert log[-1].refused

    again = redact_skill_log(log, LINE)

    told = [encode(diff.model_copy(update={"seed": None})).decode() for diff in again]
    assert ["noir" in each for each in told] == [False, False, False, False]
    assert [[j.verdict for j in diff.judged] for diff in again[:3]] == [[j.verdict for j in js] for js in quoting]
    assert again[0].judged[0].attribute_id == placeholder(LINE)
    assert (again[1].judged[0].quoted, again[2].judged[0].quoted) == (None, SAGA)


def test_counts_of_an_erased_line_stay_under_its_digest() -> None:
    """A line is in the counts of every choice that met it, also of those that changed nothing of it."""
    noir, saga = ["genre: noir"], ["genre: saga"]
    skill, log = initial_skill(USER, DOMAIN, (an_attribute("genre: noir"), an_attribute("mood: dark")), a_command()), []
    for chosen, left in ((noir, saga), *[(saga, noir)] * 4):
        contrast = a_contrast(chosen, [left, ["mood: dark"]])
        log.append(resolve_choice(skill, ValidatedProposal(Proposal(), ()), contrast))
        skill = fold(log)[USER, DOMAIN]
    assert any(fact_id(NOIR) in diff.count_delta.lines and not names_line(diff, LINE) for diff in log)

    again = redact_skill_log(log, LINE)

    assert "noir" not in "".join(encode(diff).decode() for diff in again)
    lines = {line.attribute_id: line for line in fold(again)[USER, DOMAIN].attributes}
    for line in skill.attributes:
        name = placeholder(LINE) if line.attribute_id == fact_id(NOIR) else line.attribute_id
        assert counts(lines[name]) == counts(line)


def test_an_erased_hypothesis_stays_under_its_digest_until_it_is_removed() -> None:
    skill, log = initial_skill(USER, DOMAIN, (), a_command()), []
    for number, words in enumerate(["genre: noir", "genre: saga", "genre: saga"]):
        contrast = a_contrast([words], [["mood: dark"]], event_id=f"c{number}", by_sager=True)
        log.append(resolve_choice(skill, ValidatedProposal(Proposal(), ()), contrast))
        skill = fold(log)[USER, DOMAIN]
    back = a_command(Action.ROLL_BACK, to_version=3, lines=skill.attributes, hypotheses=skill.hypotheses)
    log.append(resolve_command(skill, back, privacy=PRIVACY, gate=OUTPUT_GATE))

    again = redact_skill_log(log, LINE)

    assert "noir" not in "".join(encode(diff).decode() for diff in again)
    rewritten = fold(again)[USER, DOMAIN]
    assert rewritten.hypotheses[placeholder(LINE)] == skill.hypotheses[fact_id(NOIR)]
    request, scope = asked(0, DOMAIN, LINE)
    receipt = with_scope(EMPTY, request, scope)
    for then in (skill, rewritten):
        quoting = an_attribute("theme: city", quote="the noir city")
        command = a_command(Action.IMPORT, lines=(*then.attributes, quoting), hypotheses=then.hypotheses)
        kept = restorable(command, initial_skill(USER, DOMAIN, (), a_command()), receipt)
        assert kept.hypotheses.keys() == {"preference:genre:saga", "preference:mood:dark"}
        assert kept.lines is not None
        assert kept.lines[-1].quote == "city", "a quotation may have the erased words"


def counts(line: Attribute) -> tuple[int, int, int]:
    return line.taken, line.expected, line.proof


def test_rewritten_log_is_sealed_again() -> None:
    skill, log, before = initial_skill(USER, DOMAIN, (an_attribute("genre: noir"),), a_command()), [], None
    for action in (Action.PIN, Action.UNPIN, Action.FREEZE):
        log.append(
            seal_diff(resolve_command(skill, a_command(action), privacy=PRIVACY, gate=OUTPUT_GATE), before, b"secret")
        )
        skill, before = fold(log)[USER, DOMAIN], log[-1].chain
    assert chain_breaks(log, b"secret") == []
    assert chain_breaks(log, b"") != []
    assert [found.version for found in chain_breaks(redact_skill_log(log, LINE), b"secret")] == [1, 2, 3]


def test_erasure_removes_a_taker_from_an_item() -> None:
    item = None
    for user in (USER, "bob", "cem"):
        memory = add_taken(None, user, DOMAIN, ItemFacts(item_id="i", title="", facts=(NOIR,)), NOW, f"e-{user}")
        [(item_id, taker)] = takers_of(touch_items(memory, "i"))
        item = add_touch(item, DOMAIN, item_id, taker)
    assert item is not None
    name = neighbour_of(USER).encode()
    assert name in encode(item)

    touch = forgotten_touch(neighbour_of(USER), None, "r")
    rest = forget_taker(item, touch)

    assert rest is not None
    assert name not in encode(rest)
    assert [taker.neighbour for taker in rest.takers] == sorted([neighbour_of("bob"), neighbour_of("cem")])
    assert rest.epoch > item.epoch, "who has read it reads it again"
    assert forget_taker(rest, touch) is None
    assert forget_taker(item, forgotten_touch(neighbour_of(USER), "another", "r")) is None


def test_open_rankings_lose_an_erased_line_and_facets_of_its_domain_alone() -> None:
    shown, drawn = (ItemFacts(item_id="i", facts=(NOIR, SAGA)),), (Facet(facet="drawn to noir", confidence=0.9),)
    open_ = [OpenRanking(ranking_id=at, domain=at, candidates=shown, facets=drawn) for at in (DOMAIN, "music")]
    left = erasure.scrub_rankings(OpenRankings(user_id=USER, slot=0, rankings=open_), DOMAIN, LINE).rankings
    assert (left[0].candidates[0].facts, left[0].facets, left[1]) == ((SAGA,), (), open_[1])


def test_an_abstention_is_among_the_stored_event_ids() -> None:
    """It may still be on its way to the skill, with a time that is ahead."""
    answered = AnsweredRanking(ranking_id="r", item_id=None)
    ring = OpenRankings(user_id=USER, slot=0, answered=(answered,))

    assert abstention_id(USER, "r") in StoredState(rings=(ring,)).ids


def test_an_erasure_of_a_domain_covers_no_choices_of_others_that_wait_to_be_learned() -> None:
    answered = (AnsweredRanking(ranking_id=domain or "any", domain=domain, item_id="i") for domain in ("a", "b", None))
    ring = OpenRankings(user_id=USER, slot=0, answered=tuple(answered))

    found = {contrast_id(USER, name): name for name in ("a", "b", "any")}
    assert [found[each] for each in StoredState(rings=(ring,), domain="a").ids if each in found] == ["a", "any"]
