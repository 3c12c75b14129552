"""Whatever a person says, in any order, by any clock: the steps take it, and the log alone gives the skill."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from operators.evolve import Proposal
from operators.language.corrections import understand
from operators.learning.fold import merge
from operators.signals import SignalWeights
from operators.statinit import facts_of
from operators.statinit.parsers import BUILT_IN
from operators.steps.evolve import EvolveStep
from operators.steps.rank import RankState, RankStep, answer
from operators.steps.versions import EvolveState
from operators.tokens import count_tokens
from schemas import Candidate, Correction, Feedback, ItemFacts, Position, SkillCommand, Stance, decode, encode
from schemas.diffs import PolicySkill, SkillDiff
from schemas.events import Abstention, Contrast, Injected, RankRequest
from schemas.skills import SLIM_TEXT
from streams.language import RULES
from streams.output_gate import DEFAULT as OUTPUT_GATE
from streams.privacy import DEFAULT
from streams.privacy import DEFAULT as PRIVACY
from tests.unit.fuzz.fuzz_strategies import EXAMPLES, texts

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
BUDGET = 30
SLIM = re.compile(SLIM_TEXT)
STEPS = EvolveStep(
    slim_tokens=BUDGET,
    signals=SignalWeights.of({"glanced": 0.001, "loathed": -1.0, "nothing": 0.0}),
    privacy=PRIVACY,
    gate=OUTPUT_GATE,
)
GENRES = (
    "Horror",
    "Noir",
    "Western",
    "Comedy",
    "Anime",
    "sci-fi",
    "x" * 120,
    "\u0130" * 120,
    "O'Brien | style: y",
    "\u202e",
)

moments = st.one_of(
    st.integers(-300, 300).map(lambda minutes: NOON + timedelta(minutes=minutes)),
    st.sampled_from(
        [
            datetime(1, 1, 1, tzinfo=UTC),
            datetime(1970, 1, 1, tzinfo=UTC),
            datetime(9999, 12, 31, 23, 59, 59, tzinfo=UTC),
        ]
    ),
)
labels = st.one_of(st.sampled_from(GENRES), texts.map(lambda text: text[:120]))
sessions = st.sampled_from([None, None, "a", "b", "c", "s" * 256])
numbers = st.one_of(
    st.sampled_from([0, -0.0, 0.1, 1, 2.99, 3, 5e-324, 1e6, -1e6, 7]), st.floats(-1e6, 1e6, allow_nan=False)
)


@st.composite
def candidates(draw: st.DrawFn, number: int) -> Candidate:
    metadata: dict[str, Any] = {"genres": draw(st.lists(labels, max_size=4)), "price": draw(numbers)}
    if draw(st.integers(0, 9)) == 0:
        metadata |= {f"tag {draw(st.integers(0, 60))} {n}": draw(labels) for n in range(30)}
    title = draw(st.one_of(st.just(f"Film {number}"), texts.map(lambda text: text[:500])))
    return Candidate(item_id=f"film-{number}", title=title, metadata=metadata)


@st.composite
def lists(draw: st.DrawFn, least: int = 1) -> tuple[Candidate, ...]:
    names = draw(st.lists(st.integers(0, 25), min_size=least, max_size=8, unique=True))
    return tuple(draw(candidates(name)) for name in names)


@st.composite
def directives(draw: st.DrawFn, items: tuple[Candidate, ...]) -> dict[str, Any]:
    said: dict[str, Any] = {"stance": draw(st.sampled_from(Stance)), "changed": draw(st.booleans())}
    match draw(st.integers(0, 2 if items else 1)):
        case 0:
            measure = draw(st.sampled_from(["price", "year"]))
            limits = st.one_of(st.none(), st.floats(0, 1e9))
            said["bound"] = {"measure": measure, "above": draw(limits), "below": draw(limits)}
        case 1:
            said |= {"dimension": draw(st.sampled_from(["genre", "d" * 120, "a b", "!", "\n", "era"]))}
            said |= {"value": draw(labels), "over": draw(labels) if said["stance"] is Stance.INSTEAD else None}
        case _:
            said["item_id"] = draw(st.sampled_from([item.item_id for item in items]))
    return said


def _item_facts(items: tuple[Candidate, ...]) -> tuple[ItemFacts, ...]:
    return tuple(DEFAULT.item(facts_of(item, BUILT_IN["generic"]), "films")[0] for item in items)


@st.composite
def events(draw: st.DrawFn, number: int) -> Any:
    """Any event of a person that its schema takes; None where it does not take what was drawn."""
    common: dict[str, Any] = {"event_id": f"e{number}", "occurred_at": draw(moments), "user_id": "ann"}
    common["domain"] = "films"
    within = {"session_id": draw(sessions)}
    try:
        match draw(st.integers(0, 5)):
            case 0 | 1:
                kind = draw(st.sampled_from(sorted(STEPS.signals.weights)))
                scale = draw(st.one_of(st.none(), st.tuples(numbers, numbers)))
                value = draw(st.one_of(st.none(), numbers))
                item = draw(candidates(draw(st.integers(0, 25))))
                return Feedback(**common, **within, signal=kind, scale=scale, value=value, item=item)
            case 2:
                items = draw(lists(0))
                names = [item.item_id for item in items]
                return Correction(
                    **common,
                    **within,
                    text=draw(st.one_of(st.just(""), st.sampled_from(TEXTS), texts.map(lambda text: text[:2_000]))),
                    items=items,
                    item_id=draw(st.sampled_from([None, *names])),
                    directives=draw(st.lists(directives(items), max_size=6)),
                    acceptable=draw(st.lists(st.sampled_from(names), max_size=4)) if names else (),
                    scope=draw(st.sampled_from([None, "now", "session", "always"])),
                )
            case 3:
                return Abstention(**common, **within, ranking_id="r", shown=_item_facts(draw(lists())))
            case 4:
                taken, *rest = _item_facts(draw(lists()))
                also = draw(st.integers(0, len(rest)))
                return Contrast(
                    **common,
                    **within,
                    ranking_id="r",
                    chosen=taken,
                    chosen_rank=1,
                    also=tuple(rest[:also]),
                    in_order=bool(also) and draw(st.booleans()),
                    unchosen=tuple(rest[also:]),
                    skill_version=0,
                )
            case _:
                action = draw(st.sampled_from(["remove", "add", "freeze", "unfreeze", "import"]))
                line = {"kind": "preference", "dimension": "genre", "value": draw(labels), "tier": "high"}
                needs: dict[str, dict[str, Any]] = {
                    "remove": {"attribute_id": draw(st.sampled_from(IDS))},
                    "add": {"line": line},
                    "import": {"lines": ()},
                }
                return SkillCommand(**common, action=action, actor="ann", **needs.get(action, {}))
    except ValidationError:
        return None


TEXTS = (
    "I don't want horror.",
    "cheaper",
    "I used to like noir, but not any more.",
    "The second would do.",
    "Bitte kein Western, lieber Noir",
)
IDS = ("avoids:preference:genre:horror", "preference:genre:noir", "prefers:preference:genre:noir", "bound:price:below")


def taken(state: EvolveState, event: Any, source: Position) -> Any:
    """What the step for this event does with it."""
    match event:
        case Feedback():
            return STEPS.apply_signal(state, event, _item_facts((event.item,))[0], source)
        case Correction():
            items = _item_facts(event.items)
            return STEPS.correct(
                state, event, items, understand(event, items, state.skill, privacy=PRIVACY, reader=RULES), source
            )
        case Abstention():
            return STEPS.abstain(state, event, source)
        case Contrast():
            begun = STEPS.prepare(state, event, source)
            if begun.contrast is None or begun.outcome is not None:
                return None
            return STEPS.finish(state, begun.contrast, Proposal(), source)
        case _:
            return STEPS.command(state, event, source)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_a_person_says_is_taken_and_folds(data: st.DataObject) -> None:
    skill = PolicySkill(event_id="x", occurred_at=NOON, user_id="ann", domain="films")
    folded: PolicySkill | None = None
    for number in range(data.draw(st.integers(1, 12))):
        event = data.draw(events(number))
        if event is None:
            continue
        event = decode(type(event), encode(event))
        source = Position(topic=event.TOPIC, partition=0, offset=number, timestamp_ms=number)
        effects = taken(EvolveState(skill), event, source)
        if effects is None or effects.version is None:
            continue
        diff = decode(SkillDiff, encode(effects.diff))
        folded = merge(folded, diff)
        skill = decode(PolicySkill, encode(effects.skill))
        assert encode(folded) == encode(skill) == encode(effects.skill)
        again = taken(EvolveState(skill), event, source)
        assert again is None or again.version is None
        _is_fit_to_show(skill, data)


def _is_fit_to_show(skill: PolicySkill, data: st.DataObject) -> None:
    short = STEPS.slim(skill)
    assert short is not None
    for text in (short.text, short.session_text):
        assert count_tokens(text) <= BUDGET
        assert SLIM.fullmatch(text), text
    assert short.tokens == count_tokens(short.text) if short.text else not short.tokens
    candidates = data.draw(lists())
    within = {"session_id": data.draw(sessions)}
    request = RankRequest(
        event_id="q",
        occurred_at=data.draw(moments),
        request_id="q",
        user_id="ann",
        domain="films",
        candidates=candidates,
    )
    items = _item_facts(candidates)
    step = RankStep(retrieves=False, privacy=PRIVACY, gate=OUTPUT_GATE)
    heard = step.statements_for(skill, items, request.occurred_at, within["session_id"], asks=True)
    lines = step.session_lines(skill, skill.attributes, request.occurred_at, within["session_id"])
    order = step.order(items, lines, "", step.retrieve(_rank_state(skill), "films", NOON), "seed", heard=heard)
    against = [name in heard.said.against for name in order]
    assert against == sorted(against)
    encode(answer(request, order, Injected(fit=heard.fit_in_order(items, order))))


def _rank_state(skill: PolicySkill) -> Any:
    return RankState(skill)
