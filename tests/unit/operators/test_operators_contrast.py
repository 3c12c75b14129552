"""Rankings joined with selections, in whatever order they come (paper 2.5, DESIGN 6)."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from operators.admission import abstention_id, contrast_id
from operators.contrast import (
    ContrastEffects,
    ContrastOutcome,
    RingLimits,
    join_ranking,
    join_selection,
)
from schemas import TOPICS, ErasedScope, Fact, ItemFacts, OpenRankings, OptOut, Receipt, decode, encode, subject_digest
from schemas.events import Abstention, Contrast, Injected, RankedBy, Ranking, Selection
from tests.builders import (
    DOMAIN,
    NOW,
    USER,
    a_position,
    a_ranking,
    a_selection,
    a_time,
    facts,
    open_rankings,
    read_item,
)

Event = Ranking | Selection
DEFAULT = RingLimits()


def feed(state: OpenRankings, event: Event, offset: int = 0, limits: RingLimits = DEFAULT) -> ContrastEffects:
    source = a_position(offset, topic=f"sager.{event.TOPIC}")
    if isinstance(event, Ranking):
        return join_ranking(state, event, read_item, source, limits)
    return join_selection(state, event, source, limits)


def run(*events: Event, limits: RingLimits = DEFAULT) -> list[ContrastEffects]:
    steps: list[ContrastEffects] = []
    for offset, event in enumerate(events):
        steps.append(feed(steps[-1].state if steps else open_rankings(), event, offset, limits))
    return steps


def contrasts(steps: list[ContrastEffects]) -> list[Contrast]:
    return [step.contrast for step in steps if step.contrast]


class TestInOrder:
    def test_a_selection_completes_the_contrast(self) -> None:
        ranking = a_ranking(
            "r1", ["a", "b", "c"], instruction="dark", injected=Injected(skill_version=7, slim_skill="likes: noir")
        )
        opened, chosen = run(ranking, selection := a_selection("r1", "b"))

        assert opened.outcome is ContrastOutcome.OPENED
        assert chosen.outcome is ContrastOutcome.MATCHED
        assert chosen.contrast == Contrast(
            event_id=contrast_id(USER, "r1"),
            occurred_at=selection.occurred_at,
            user_id=USER,
            domain="books",
            ranking_id="r1",
            instruction="dark",
            chosen=ItemFacts(item_id="b", facts=facts("genre: b")),
            chosen_rank=2,
            unchosen=(ItemFacts(item_id="c", facts=facts("genre: c")), ItemFacts(item_id="a", facts=facts("genre: a"))),
            skill_version=7,
            arm="evolved",
        )
        assert not chosen.state.rankings

    def test_the_apps_skill_version_overrides_the_rankings(self) -> None:
        ranking = a_ranking("r1", injected=Injected(skill_version=7, slim_skill="likes: noir"))

        assert contrasts(run(ranking, a_selection("r1", "i1", skill_version=5)))[0].skill_version == 5
        assert contrasts(run(ranking, a_selection("r1", "i1", skill_version=0)))[0].skill_version == 0


class TestAnyOrder:
    @pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
    def test_the_order_of_arrival_does_not_matter(self, order: tuple[int, ...]) -> None:
        events: list[Event] = [
            a_ranking("r1", ["a", "b"]),
            a_ranking("r2", ["c", "d"]),
            a_selection("r1", "b", event_id="s1"),
            a_selection("r2", "c", event_id="s2"),
        ]

        found = contrasts(run(*(events[n] for n in order)))

        assert {encode(c) for c in found} == {encode(c) for c in contrasts(run(*events))}
        assert len(found) == 2


def nothing_taken(ranking_id: str = "r1", **more: Any) -> Selection:
    return Selection(
        event_id=f"none-{ranking_id}", occurred_at=NOW, user_id=USER, ranking_id=ranking_id, none_taken=True, **more
    )


def names(items: Sequence[ItemFacts]) -> list[str]:
    return [item.item_id for item in items]


class TestSeveral:
    def test_unchosen_items_exclude_all_taken_items(self) -> None:
        [contrast] = contrasts(run(a_ranking("r1", [*"abcde"]), a_selection("r1", "b", others=("d", "a"))))

        assert contrast.chosen.item_id == "b"
        assert contrast.chosen_rank == 2
        assert names(contrast.also) == ["d", "a"]
        assert names(contrast.unchosen) == ["e", "c"]
        assert not contrast.in_order

    @pytest.mark.parametrize("waits", [True, False])
    def test_the_same_items_in_another_order_are_a_repeat(self, waits: bool) -> None:
        first: list[Event] = [a_selection("r1", "i1", others=("i2",))]
        events = first if waits else [a_ranking("r1"), *first]

        steps = run(*events, a_selection("r1", "i2", others=("i1",)), a_selection("r1", "i1"))

        assert [step.outcome for step in steps[-2:]] == [ContrastOutcome.REPEATED, ContrastOutcome.ALREADY_ANSWERED]


class TestNothingTaken:
    @pytest.mark.parametrize("is_late", [True, False])
    def test_an_abstention_has_all_shown_items(self, is_late: bool) -> None:
        ranking = a_ranking("r1", ["a", "b"], instruction="dark", injected=Injected(skill_version=7, arm="b"))
        events: list[Event] = [nothing_taken(), ranking] if is_late else [ranking, nothing_taken()]

        step = run(*events)[-1]

        assert (step.outcome, step.contrast) == (ContrastOutcome.ABSTAINED, None)
        assert step.abstention == Abstention(
            event_id=abstention_id(USER, "r1"),
            occurred_at=NOW,
            user_id=USER,
            domain="books",
            ranking_id="r1",
            instruction="dark",
            shown=tuple(ItemFacts(item_id=name, facts=facts(f"genre: {name}")) for name in "ab"),
            skill_version=7,
            arm="b",
        )
        assert not step.state.rankings

    def test_the_first_answer_wins(self) -> None:
        steps = run(a_ranking("r1"), nothing_taken(), nothing_taken(), a_selection("r1", "i1"))
        assert [step.outcome.value for step in steps[1:]] == ["abstained", "repeated", "already-answered"]

        steps = run(a_ranking("r1"), a_selection("r1", "i1"), nothing_taken())
        assert steps[-1].outcome is ContrastOutcome.ALREADY_ANSWERED

        steps = run(nothing_taken(), a_selection("r1", "i1"), a_ranking("r1"))
        assert [step.outcome.value for step in steps] == ["waiting", "already-answered", "abstained"]

    @pytest.mark.parametrize("wish", list(OptOut))
    def test_an_opted_out_list_makes_no_contrast(self, wish: OptOut) -> None:
        opened = join_ranking(open_rankings(), a_ranking("r1"), read_item, a_position(0), wish=wish).state

        step = join_selection(opened, nothing_taken(), a_position(1, "sager.selections"))

        assert (step.outcome.value, step.abstention) == (wish.value, None)


@pytest.mark.parametrize("ranked_by", RankedBy)
def test_a_contrast_states_the_author_of_its_order(ranked_by: RankedBy) -> None:
    [contrast] = contrasts(run(a_ranking("r1", ranked_by=ranked_by), a_selection("r1", "i1")))

    assert contrast.by_sager is (ranked_by is RankedBy.SAGER)


class TestSession:
    def test_the_selections_session_overrides_the_rankings(self) -> None:
        ranking = a_ranking("r1", session_id="s1")

        def told(selection: Selection) -> str | None:
            step = run(ranking, selection)[-1]
            answer = step.contrast or step.abstention
            assert answer is not None
            return answer.session_id

        assert told(a_selection("r1", "i1")) == "s1"
        assert told(a_selection("r1", "i1", session_id="s2")) == "s2"
        assert told(nothing_taken()) == "s1"


class TestRefused:
    def test_an_unshown_item_is_refused_and_the_ranking_stays_open(self) -> None:
        steps = run(a_ranking("r1"), bad := a_selection("r1", "other"), a_selection("r1", "i1"))

        assert steps[1].outcome is ContrastOutcome.NOT_IN_RANKING
        assert [(w.selection, why) for w, why in steps[1].refused] == [(bad, ContrastOutcome.NOT_IN_RANKING)]
        assert steps[2].outcome is ContrastOutcome.MATCHED

    def test_a_waiting_selection_of_an_unshown_item_is_refused(self) -> None:
        steps = run(bad := a_selection("r1", "other"), a_ranking("r1"), a_selection("r1", "i1"))

        assert steps[1].outcome is ContrastOutcome.OPENED
        [(waiting, why)] = steps[1].refused
        assert (waiting.selection, why) == (bad, ContrastOutcome.NOT_IN_RANKING)
        assert waiting.source == a_position(0, topic="sager.selections")
        assert steps[2].outcome is ContrastOutcome.MATCHED

    def test_a_second_choice_is_refused_while_the_first_waits(self) -> None:
        steps = run(a_selection("r1", "i1"), a_selection("r1", "i2"), a_ranking("r1"))

        assert steps[1].outcome is ContrastOutcome.ALREADY_ANSWERED
        assert contrasts(steps)[0].chosen.item_id == "i1"

    def test_an_unmatched_selection_is_dropped_with_its_position(self) -> None:
        limits = RingLimits(waiting=2)

        steps = run(*(a_selection(f"r{n}", "i1") for n in range(3)), limits=limits)

        assert steps[2].outcome is ContrastOutcome.WAITING
        [(gone, why)] = steps[2].refused
        assert (gone.selection.ranking_id, why) == ("r0", ContrastOutcome.NO_RANKING)
        assert gone.source.offset == 0


class TestBounds:
    def test_open_rankings_are_bounded_by_bytes(self) -> None:
        """Sixteen rankings of a hundred rich items would outgrow a changelog record, and be refused for ever."""
        limits = RingLimits(size_bytes=10_000)
        steps = run(*(a_ranking(f"r{n}", [f"{n}-{i}" * 20 for i in range(30)]) for n in range(8)), limits=limits)

        kept = steps[-1].state.rankings
        assert kept[-1].ranking_id == "r7"
        assert 1 <= len(kept) < 8
        assert sum(step.expired for step in steps) == 8 - len(kept)
        assert all(len(encode(step.state)) < 2 * 10_000 for step in steps)

        huge = feed(steps[-1].state, a_ranking("huge", ["x" * 110 + str(n) for n in range(100)]), 9, limits)
        assert [r.ranking_id for r in huge.state.rankings] == ["huge"]

    def test_the_largest_rings_and_contrasts_fit_their_topics(self) -> None:
        rich = tuple(Fact(dimension="d" * 40, value=f"{n:02}" + "🍕" * 118) for n in range(32))

        def widest(candidate: object) -> ItemFacts:
            return ItemFacts(item_id=getattr(candidate, "item_id", ""), title="🍕" * 500, facts=rich)

        state = open_rankings()
        for n in range(RingLimits().rankings):
            ranking = a_ranking(f"r{n}", [f"{i:03}" + "🍕" * 250 for i in range(100)], instruction="🍕" * 2_000)
            state = join_ranking(state, ranking, widest, a_position(n)).state
        for n in range(RingLimits().waiting):
            state = join_selection(state, a_selection("🍕" * 250 + str(n), "🍕" * 256), a_position(n)).state
        contrast = join_selection(state, a_selection("r15", "000" + "🍕" * 250), a_position(99)).contrast

        assert contrast is not None
        assert len(encode(state)) < TOPICS[OpenRankings.TOPIC].max_message_bytes
        assert len(encode(contrast)) < TOPICS[Contrast.TOPIC].max_message_bytes
        assert decode(OpenRankings, encode(state)) == state


class TestFence:
    def test_every_outcome_moves_the_fence(self) -> None:
        steps = run(
            a_ranking("r1"), a_selection("r1", "i1"), a_selection("r1", "i1"), a_selection("r1", "i2"), a_ranking("r1")
        )

        fences = [{p.topic: p.offset for p in step.state.applied} for step in steps]
        assert fences == [
            {"sager.rankings": 0},
            {"sager.rankings": 0, "sager.selections": 1},
            {"sager.rankings": 0, "sager.selections": 2},
            {"sager.rankings": 0, "sager.selections": 3},
            {"sager.rankings": 4, "sager.selections": 3},
        ]


RANKINGS, SELECTIONS = "sager.rankings", "sager.selections"
LATE_MS = round(a_time(60).timestamp() * 1000)


def ranked(state: OpenRankings | None, offset: int = 0, receipt: Receipt | None = None) -> ContrastEffects:
    position = a_position(offset, RANKINGS, timestamp_ms=LATE_MS)
    return join_ranking(state, a_ranking(), read_item, position, receipt=receipt)


def selected(state: OpenRankings | None, offset: int = 0, receipt: Receipt | None = None) -> ContrastEffects:
    return join_selection(state, a_selection(), a_position(offset, SELECTIONS, timestamp_ms=LATE_MS), receipt=receipt)


def forgotten(**scopes: object) -> Receipt:
    return Receipt.model_validate({"event_id": "f", "occurred_at": NOW, "subject": subject_digest(USER), **scopes})


UNTIL = ErasedScope(event_id="f", until=a_time(30), actor="ann", done=True)


def test_an_applied_record_has_no_effects() -> None:
    rings = open_rankings(applied=(a_position(4, RANKINGS, timestamp_ms=LATE_MS),))

    assert ranked(rings, 4) == ContrastEffects(rings, ContrastOutcome.REPEATED, is_new=False)
    assert ranked(rings, 5).is_new
    assert selected(rings, 4).is_new, "each topic has a fence of its own"


def test_a_selections_domain_comes_from_its_ranking() -> None:
    receipt = forgotten(domains={DOMAIN: UNTIL})
    ranking, selection = ranked(None, receipt=receipt), selected(None, receipt=receipt)

    assert (ranking.outcome, ranking.is_new) == (ContrastOutcome.FORGOTTEN, False)
    assert (selection.outcome, selection.is_new) == (ContrastOutcome.WAITING, True)
