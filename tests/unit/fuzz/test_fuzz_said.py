"""Whatever people are said to have said goes through every step, within its bounds, and folds to the same skill."""

from hypothesis import given
from hypothesis import strategies as st

from operators.language.corrections import understand
from operators.merge import fold, start
from operators.statinit import facts_of
from operators.statinit.parsers import BUILT_IN
from operators.steps import Effects, Evolve, State
from operators.steps.rank import Rank
from operators.tokens import count_tokens
from schemas import MAX_STATEMENTS, TOPICS, Abstention, Correction, Event, Feedback, ItemFacts, PolicySkill, encode
from schemas.statements import MAX_WORDS
from streams.language import RULES
from streams.privacy import DEFAULT
from streams.privacy import DEFAULT as PRIVACY
from streams.vouching import DEFAULT as VOUCHING
from tests.unit.fuzz.fuzz_strategies import look, texts
from tests.unit.fuzz.test_fuzz_operators import valid

STEP, RANK = Evolve(slim_tokens=30, privacy=PRIVACY, vouching=VOUCHING), Rank(privacy=PRIVACY, vouching=VOUCHING)
SAID = st.one_of(valid(Feedback, "feedback"), valid(Correction, "corrections"), valid(Abstention, "abstentions"))


def heard(state: State, event: Event, parser: str, text: str) -> tuple[Effects, tuple[ItemFacts, ...]]:
    """What a worker does with an event, and what the person saw."""
    if isinstance(event, Feedback):
        item = DEFAULT.item(facts_of(event.item, BUILT_IN[parser]), event.domain)[0]
        return STEP.hear(state, event, item), (item,)
    if isinstance(event, Abstention):
        return STEP.abstain(state, event), event.shown
    assert isinstance(event, Correction)
    kept = event.model_copy(update={"text": DEFAULT.redact(text[:2_000] or event.text, event.domain).text})
    items = tuple(DEFAULT.item(facts_of(each, BUILT_IN[parser]), event.domain)[0] for each in event.items)
    return STEP.correct(state, kept, items, understand(kept, items, state.skill, privacy=PRIVACY, reader=RULES)), items


def test_whatever_is_said_is_heard_within_bounds_and_folds() -> None:
    @given(st.lists(st.tuples(SAID, texts), min_size=1, max_size=6), st.sampled_from(sorted(BUILT_IN)))
    def check(said: list[tuple[Feedback | Correction | Abstention, str]], parser: str) -> None:
        first = said[0][0]
        skill: PolicySkill = start(first.user_id, first.domain, (), first)
        log = []
        for number, (event, text) in enumerate(said):
            whose = {"event_id": f"e{number}", "user_id": first.user_id, "domain": first.domain}
            effects, items = heard(State(skill), event.model_copy(update=whose), parser, text)
            log += [effects.diff] if effects.diff is not None else []
            skill = effects.skill
            told = RANK.heard(skill, items, event.occurred_at, event.session_id, asks=True)
            assert told.fit is None or len(told.fit.chances) == len(items)
        assert not log or encode(fold(log)[first.user_id, first.domain]) == encode(skill)
        assert len(skill.stated) <= MAX_STATEMENTS
        assert all(len(each.words) <= MAX_WORDS for each in skill.stated)
        assert len(encode(skill)) < TOPICS[PolicySkill.TOPIC].max_message_bytes // 2
        short = STEP.slim(skill)
        assert short is not None
        assert short.tokens <= 30
        assert count_tokens(short.session_text) <= 30
        assert "\n" not in short.text + short.session_text

    look(check)
