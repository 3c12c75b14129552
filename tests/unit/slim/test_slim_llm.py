"""LLM_Ext (paper eq. 3, C.2) over real HTTP: what a model may choose, and that nothing else can be said."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from operators.evolve.proposals import ReasonerUnavailable
from operators.language.output_policy import OutputGate
from operators.llm import CORRECTION_TOKENS
from operators.slim.llm import LlmExtract, SlimQuestion, slim_question
from operators.slim.rules import compose, max_likes, slim
from operators.slim.selection import fit_selection
from operators.slim.statements import phrase, quotable
from operators.tokens import count_tokens
from schemas import AttributeKind, PolicySkill, Tier
from streams.llm.client import LlmClient
from streams.policies import DEFAULT_GATE
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from tests.builders import EVERYTHING, a_skill, an_attribute
from tests.openai_server import Act, Do, OpenAiServer

LEAST_TOKENS = 1_000
GOLDEN = Path(__file__).with_name("slim_v1.golden.txt")
NOIR = an_attribute("genre: noir", Tier.HIGH, support=9)
SAGA = an_attribute("genre: family saga", Tier.HIGH, support=8)
DARK = an_attribute("mood: dark", Tier.MEDIUM, support=7)
COSY = an_attribute("mood: cosy", Tier.LOW)
STYLE = an_attribute("exploration: explores many genres", Tier.MEDIUM, kind=AttributeKind.PATTERN)
ERA = an_attribute("era: 1990s", Tier.HIGH, kind=AttributeKind.CRITERION)
SKILL = a_skill(NOIR, SAGA, DARK, COSY, STYLE, ERA, version=4)


@pytest.fixture
def extract(client: LlmClient) -> LlmExtract:
    return LlmExtract(client, gate=OUTPUT_GATE)


def asked(
    skill: PolicySkill, instruction: str = "", budget: int = 30, max_tokens: int = 1500, gate: OutputGate = DEFAULT_GATE
) -> SlimQuestion:
    found = slim_question(skill, instruction, budget, max_tokens=max_tokens, gate=gate)
    assert found is not None
    return found


class _Says:
    """A client whose model has said this; only for what a real endpoint cannot be made to say."""

    def __init__(self, **answer: Any) -> None:
        self.answer = answer

    async def ask(self, *_: object, **__: object) -> "_Says":
        return self

    def reasoned_by(self, prompt: str) -> Any:
        return None


def test_the_prompt_is_the_golden_one() -> None:
    assert asked(SKILL, "A saga for the weekend").prompt == GOLDEN.read_text(encoding="utf-8")


def test_only_medium_and_high_lines_are_offered() -> None:
    found = asked(SKILL)

    assert list(found.likes) == ["noir", "family saga", "dark"]
    assert list(found.styles) == ["explores many genres", "prefers 1990s"]
    assert "cosy" not in found.prompt
    assert found.schema["properties"]["style"]["enum"][-1] == "none"
    assert found.schema["properties"]["likes"]["maxItems"] == 3


async def test_the_models_choice_becomes_the_slim_skill(extract: LlmExtract, server: OpenAiServer) -> None:
    found, by = await extract.extract(SKILL)

    record = found
    assert record.text == "likes: noir | style: explores many genres"
    assert (record.skill_version, record.event_id) == (4, SKILL.event_id)
    assert record.tokens == count_tokens(record.text)
    assert (by.reasoner, by.model, by.prompt, by.calls) == ("llm", "fake", "slim.v1", 1)
    assert server.bodies[0]["response_format"]["json_schema"]["name"] == "slim_v1"


def test_the_schema_has_only_existing_parts() -> None:
    parts = [list(asked(a_skill(*lines)).schema["properties"]) for lines in ((NOIR,), (STYLE,), (NOIR, STYLE))]
    assert parts == [["likes"], ["style"], ["likes", "style"]]


async def test_an_invalid_answer_makes_the_model_unavailable(extract: LlmExtract, server: OpenAiServer) -> None:
    server.always = Act(Do.LIE)

    with pytest.raises(ReasonerUnavailable, match="invalid-reply"):
        await extract.extract(SKILL)
    assert len(server.bodies) == 2


SCRIPTS = ["wörd ", "𒐫", "漢字", "ﷺ", "🧑‍🚀", "a"]


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("budget", [LEAST_TOKENS, 1_500])
def test_the_largest_skill_fits_the_budget(script: str, budget: int) -> None:
    kinds = [AttributeKind.PREFERENCE, AttributeKind.PREFERENCE, AttributeKind.PATTERN, AttributeKind.CRITERION]
    lines = [
        an_attribute(
            f"{'d' * 40}: {(f'{n} ' + script * 120)[:120]}", Tier.HIGH, kind=kinds[n % 4], attribute_id=f"x:{n}"
        )
        for n in range(64)
    ]

    found = asked(a_skill(*lines), script * 400, 200, budget, EVERYTHING)

    assert count_tokens(found.prompt) + CORRECTION_TOKENS <= budget
    assert found.likes
    assert found.styles


VALUES = st.one_of(
    st.sampled_from(["noir", "dark | cosy", "</likes>", "none", "{|}", "prefers 1990s", "<|im_end|>", "ﷺ" * 30]),
    st.text(st.characters(categories=["L", "N", "P", "S", "Zs", "Cf"]), min_size=1, max_size=60),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(VALUES, st.sampled_from(AttributeKind), st.sampled_from(Tier)), max_size=12),
    VALUES,
    st.integers(10, 200),
    st.data(),
)
async def test_any_answer_stays_within_lines_and_budget(
    lines: list[tuple[str, AttributeKind, Tier]], instruction: str, budget: int, data: st.DataObject
) -> None:
    skill = a_skill(*(an_attribute(f"x: {v}", t, kind=k, attribute_id=f"x:{n}") for n, (v, k, t) in enumerate(lines)))
    found = slim_question(skill, instruction, budget, max_tokens=1_500, gate=EVERYTHING)
    if found is None:
        assert slim(skill, budget, gate=EVERYTHING).text == "" or "none" in {quotable(v) for v, _, _ in lines}
        return
    likes = data.draw(st.lists(st.sampled_from(list(found.likes)), max_size=max_likes(budget))) if found.likes else []
    style = data.draw(st.sampled_from([*found.styles, "none"]))

    llm = LlmExtract(_Says(likes=likes, style=style), gate=EVERYTHING)
    short = (await llm.extract(skill, instruction, budget))[0]

    sure = {phrase(a.dimension, a.value) for a in skill.attributes if a.tier >= Tier.MEDIUM}
    assert set(short.likes) | {short.style} - {""} <= sure | {f"prefers {value}" for value in sure}
    assert count_tokens(short.text) == short.tokens <= budget
    assert short.text.startswith(compose(list(short.likes), ""))
    kept = fit_selection(skill, [found.likes[like][1].attribute_id for like in likes], budget, gate=EVERYTHING)
    assert set(kept) <= {a.attribute_id for a in skill.attributes if a.tier >= Tier.MEDIUM}
    assert count_tokens(slim(skill.model_copy(update={"slim_lines": kept}), budget, gate=EVERYTHING).text) <= budget
    assert set(found.prompt.splitlines()) >= {"<request>", "</request>", "<likes>", "</likes>", "<style>", "</style>"}
