"""Any events of a user, in any order and with any clocks: the log folds to the skill that the steps give."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from operators.admission import is_applied
from operators.evolve.proposals import Proposal
from operators.language.corrections import understand
from operators.learning.feedback import SignalWeights
from operators.learning.fold import merge
from operators.statinit import BUILT_IN, facts_of
from operators.steps.evolve import EvolveState, EvolveStep
from operators.steps.rank import RankState, RankStep, answer
from operators.tokens import count_tokens
from schemas import SLIM_TEXT, Candidate, ItemFacts, PolicySkill, Position, SkillCommand, SkillDiff, decode, encode
from schemas.events import Abstention, Contrast, Feedback, Injected, RankRequest
from schemas.statements import Correction, Stance
from streams.language import RULES
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from tests.unit.fuzz.fuzz_strategies import EXAMPLES, outcome, texts

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BUDGET = 30
SIGNALS = SignalWeights.of({"glanced": 0.001, "loathed": -1.0, "nothing": 0.0})
EVOLVE = EvolveStep(slim_tokens=BUDGET, signals=SIGNALS, privacy=PRIVACY, gate=OUTPUT_GATE)
RANK = RankStep(retrieves=False, privacy=PRIVACY, gate=OUTPUT_GATE)
GENRES = (
    *("Horror", "Noir", "Western", "Comedy", "Anime", "sci-fi", "x" * 120, "\u0130" * 120),
    *("O'Brien | style: y", "\u202e"),
)
TEXTS = (
    *("I don't want horror.", "cheaper", "I used to like noir, but not any more.", "The second would do."),
    "Bitte kein Western, lieber Noir",
)
IDS = ("avoids:preference:genre:horror", "preference:genre:noir", "prefers:preference:genre:noir", "bound:price:below")

edges = [datetime(1, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)]
moments = st.integers(-300, 300).map(lambda minutes: NOON + timedelta(minutes=minutes)) | st.sampled_from(edges)
labels = st.sampled_from(GENRES) | texts.map(lambda text: text[:120])
sessions = st.sampled_from([None, None, "a", "b", "c", "s" * 256])
numbers = st.sampled_from([0, -0.0, 0.1, 1, 2.99, 3, 5e-324, 1e6, -1e6, 7]) | st.floats(-1e6, 1e6, allow_nan=False)


@st.composite
def candidates(draw: st.DrawFn) -> Candidate:
    number = draw(st.integers(0, 25))
    metadata: dict[str, Any] = {"genres": draw(st.lists(labels, max_size=4)), "price": draw(numbers)}
    if draw(st.integers(0, 9)) == 0:
        metadata |= {f"tag {draw(st.integers(0, 60))} {n}": draw(labels) for n in range(30)}
    title = draw(st.just(f"Film {number}") | texts.map(lambda text: text[:500]))
    return Candidate(item_id=f"film-{number}", title=title, metadata=metadata)


def lists(least: int = 1) -> st.SearchStrategy[list[Candidate]]:
    return st.lists(candidates(), min_size=least, max_size=8, unique_by=lambda item: item.item_id)


@st.composite
def directives(draw: st.DrawFn, items: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"stance": draw(st.sampled_from(Stance)), "changed": draw(st.booleans())}
    match draw(st.integers(0, 2 if items else 1)):
        case 0:
            limits = st.none() | st.floats(0, 1e9)
            measure = draw(st.sampled_from(["price", "year"]))
            found["bound"] = {"measure": measure, "above": draw(limits), "below": draw(limits)}
        case 1:
            found |= {"dimension": draw(st.sampled_from(["genre", "d" * 120, "a b", "!", "\n", "era"]))}
            found |= {"value": draw(labels), "over": draw(labels) if found["stance"] is Stance.INSTEAD else None}
        case _:
            found["item_id"] = draw(st.sampled_from(items))
    return found


def parsed(*items: Candidate) -> tuple[ItemFacts, ...]:
    return tuple(PRIVACY.item(facts_of(item, BUILT_IN["generic"]), "films")[0] for item in items)


feedback = st.fixed_dictionaries(
    {
        "signal": st.sampled_from(sorted(SIGNALS.weights)),
        "scale": st.none() | st.tuples(numbers, numbers),
        "value": st.none() | numbers,
        "item": candidates(),
    }
)
abstentions = lists().map(lambda items: {"ranking_id": "r", "shown": parsed(*items)})


@st.composite
def corrections(draw: st.DrawFn) -> dict[str, Any]:
    items = draw(lists(0))
    names = [item.item_id for item in items]
    return {
        "text": draw(st.sampled_from(["", *TEXTS]) | texts.map(lambda text: text[:2_000])),
        "items": items,
        "item_id": draw(st.sampled_from([None, *names])),
        "directives": draw(st.lists(directives(names), max_size=6)),
        "acceptable": draw(st.lists(st.sampled_from(names), max_size=4)) if names else (),
        "scope": draw(st.sampled_from([None, "now", "session", "always"])),
    }


@st.composite
def contrasts(draw: st.DrawFn) -> dict[str, Any]:
    chosen, *rest = parsed(*draw(lists()))
    also = draw(st.integers(0, len(rest)))
    in_order = bool(also) and draw(st.booleans())
    items = {"chosen": chosen, "also": rest[:also], "unchosen": rest[also:], "in_order": in_order}
    return {"ranking_id": "r", "chosen_rank": 1, "skill_version": 0, **items}


@st.composite
def commands(draw: st.DrawFn) -> dict[str, Any]:
    line = {"kind": "preference", "dimension": "genre", "value": draw(labels), "tier": "high"}
    arguments: dict[str, dict[str, Any]] = {
        "remove": {"attribute_id": draw(st.sampled_from(IDS))}, "add": {"line": line}, "import": {"lines": ()},
        "freeze": {}, "unfreeze": {},
    }  # fmt: skip
    action = draw(st.sampled_from(sorted(arguments)))
    return {"action": action, "actor": "ann", **arguments[action]}


FIELDS: dict[type[Any], st.SearchStrategy[dict[str, Any]]] = {
    Feedback: feedback,
    Correction: corrections(),
    Abstention: abstentions,
    Contrast: contrasts(),
    SkillCommand: commands(),
}


@st.composite
def events(draw: st.DrawFn, number: int) -> Any:
    model = draw(st.sampled_from([Feedback, *FIELDS]))
    fields = {"event_id": f"e{number}", "occurred_at": draw(moments), "user_id": "ann", "domain": "films"}
    if "session_id" in model.model_fields:
        fields["session_id"] = draw(sessions)
    fields |= draw(FIELDS[model])
    return outcome(lambda: model(**fields), ValidationError)


def apply_event(state: EvolveState, event: Any, source: Position) -> Any:
    match event:
        case Feedback():
            return EVOLVE.apply_signal(state, event, parsed(event.item)[0], source)
        case Correction():
            items = parsed(*event.items)
            reading = understand(event, items, state.skill, privacy=PRIVACY, reader=RULES)
            return EVOLVE.correct(state, event, items, reading, source)
        case Abstention():
            return EVOLVE.abstain(state, event, source)
        case Contrast():
            prepared = EVOLVE.prepare(state, event, source)
            if prepared.contrast is None or prepared.outcome is not None:
                return None
            return EVOLVE.finish(state, prepared.contrast, Proposal(), source)
        case _:
            return EVOLVE.command(state, event, source)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_events_fold_from_the_log_to_the_same_skill(data: st.DataObject) -> None:
    skill = PolicySkill(event_id="x", occurred_at=NOON, user_id="ann", domain="films")
    folded: PolicySkill | None = None
    for number in range(data.draw(st.integers(1, 12))):
        event = data.draw(events(number))
        if isinstance(event, ValidationError):
            continue
        event = decode(type(event), encode(event))
        source = Position(topic=event.TOPIC, partition=0, offset=number, timestamp_ms=number)
        effects = apply_event(EvolveState(skill), event, source)
        if effects is None or effects.version is None:
            continue
        folded = merge(folded, decode(SkillDiff, encode(effects.diff)))
        skill = decode(PolicySkill, encode(effects.skill))
        assert encode(folded) == encode(skill) == encode(effects.skill)
        assert is_applied(skill.applied, source)
        for offset in (number, number + 100):
            repeated = apply_event(EvolveState(skill), event, source.model_copy(update={"offset": offset}))
            assert repeated is None or repeated.version is None
        check_slim_skill(skill)
        check_ranking(skill, data.draw(lists()), data.draw(moments), data.draw(sessions))


def check_slim_skill(skill: PolicySkill) -> None:
    short = EVOLVE.slim(skill)
    assert short is not None
    for text in (short.text, short.session_text):
        assert count_tokens(text) <= BUDGET
        assert re.fullmatch(SLIM_TEXT, text), text
    assert short.tokens == (count_tokens(short.text) if short.text else 0)


def check_ranking(skill: PolicySkill, shown: list[Candidate], at: datetime, session: str | None) -> None:
    names = {"event_id": "q", "request_id": "q", "user_id": "ann", "domain": "films"}
    request = RankRequest(occurred_at=at, candidates=shown, **names)
    items = parsed(*shown)
    statements = RANK.statements_for(skill, items, at, session, asks=True)
    lines = RANK.session_lines(skill, skill.attributes, at, session)
    spoken = RANK.features_of(items, lines, RANK.retrieve(RankState(skill), "films", NOON))
    order = RANK.order(items, spoken, "", "seed", heard=statements).order
    against = [name in statements.said.against for name in order]
    assert against == sorted(against)
    encode(answer(request, order, Injected(fit=statements.fit_in_order(items, order))))
