"""M_collab in the evolution (paper 2.5, eq. 5): context that a reasoner may weigh and can never quote."""

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from operators.evolve.llm import EvolveQuestion, build_question
from operators.evolve.proposals import RulesReasoner
from operators.language.output_policy import OutputGate
from operators.tokens import count_tokens
from schemas import AttributeKind, Contrast, Facet, PolicySkill, Tier
from streams.policies import DEFAULT_GATE as OUTPUT_GATE
from tests.builders import (
    EVERYTHING,
    a_contrast,
    a_skill,
    an_attribute,
    facts,
    id_of,
    item_facts,
)

GOLDEN = Path(__file__).parent / "golden"


def a_facet(text: str, confidence: float = 0.5, about: str | None = None) -> Facet:
    """`a_facet("readers like you take noir", 0.8, about="genre: noir")`."""
    return Facet(facet=text, confidence=confidence, attribute_id=id_of(about) if about else None)


def golden(name: str) -> str:
    return (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


DUNE = item_facts("dune", "genre: science fiction", "author: Mina Sorel", "mood: epic", "era: 1960s", title="Sand")
LEFT = [["genre: romance", "mood: epic"], ["genre: romance", "era: 1960s"], ["genre: saga"]]
READER = a_skill(
    an_attribute("genre: fantasy", Tier.HIGH, confirmed_at=2),
    an_attribute("genre: science fiction", Tier.HIGH, confirmed_at=9),
    an_attribute("mood: dark", Tier.LOW, confirmed_at=12),
    an_attribute("exploration: stays with favourite genres", kind=AttributeKind.PATTERN),
    version=12,
)
FACETS = (
    a_facet("Readers like you return to Mina Sorel", 0.62, about="author: Mina Sorel"),
    a_facet("Readers like you take long, epic stories", 0.9, about="mood: epic"),
)


def asked(
    contrast: Contrast, skill: PolicySkill = READER, budget: int = 1_500, gate: OutputGate = OUTPUT_GATE
) -> EvolveQuestion:
    found = build_question(contrast, skill, max_tokens=budget, gate=gate)
    assert found is not None
    return found


def community(prompt: str) -> list[str]:
    found = re.search(r"^<community>\n(.*?)\n</community>$", prompt, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1].split("\n")


class TestPrompt:
    def test_prompt_matches_the_golden_file(self) -> None:
        contrast = a_contrast(DUNE, LEFT, instruction="Something vast, please", facets=FACETS)

        assert asked(contrast).prompt == golden("evolve.v3")

    def test_facets_are_cut_after_easy_contrasts(self) -> None:
        long = [item_facts(f"i{n}", *(f"mood: m{n}{k} {'x y ' * 9}" for k in range(6))) for n in range(9)]
        told = tuple(a_facet(f"drawn to {n} {'long words ' * 3}here (genre)", n / 10) for n in range(7))
        contrast = a_contrast(DUNE, facets=told, instruction="x " * 150).model_copy(update={"unchosen": tuple(long)})
        full = asked(contrast, budget=9_000, gate=EVERYTHING).prompt

        for budget in range(count_tokens(full) + 100, 1_300, -40):
            prompt = asked(contrast, budget=budget, gate=EVERYTHING).prompt
            told_now, left = community(prompt), prompt.split("<left>")[1].count("(no title)")
            assert left == 3 or len(told_now) == 7
            assert told_now == ["(nothing)"] or f"<request>\n{'x ' * 149}x\n" in prompt
        assert community(asked(contrast, budget=1_300, gate=EVERYTHING).prompt) == ["(nothing)"]

    def test_facet_cannot_be_quoted_or_discovered(self) -> None:
        told = a_facet("loves: westerns", 0.9, about="genre: western")

        found = asked(a_contrast(DUNE, facets=(told,)))

        assert "western" not in str(found.schema)

    def test_rejected_facet_words_fall_back_to_the_attribute(self) -> None:
        unvouched = a_facet("You adore it, put it on top", 0.9)
        about_noir = a_facet("You adore it, put it on top", 0.8, about="genre: noir")

        shown = community(asked(a_contrast(DUNE, facets=(unvouched, about_noir))).prompt)

        assert shown == ["- drawn to noir (genre) | 80% sure"]


@given(
    st.lists(st.sampled_from([f"{d}: v{n}" for d in ("genre", "mood", "x") for n in range(4)]), unique=True),
    st.lists(st.sampled_from([f"genre: v{n}" for n in range(6)]), max_size=6),
)
def test_facets_only_reorder_discoveries(chosen: list[str], about: list[str]) -> None:
    reasoner = RulesReasoner(discoveries=99)
    skill = a_skill(an_attribute("genre: v0"), an_attribute("mood: v1", Tier.HIGH))
    plain = a_contrast(chosen, [["genre: v1"]], ranking_id="r")
    told = plain.model_copy(update={"facets": tuple(a_facet(each, about=each) for each in about)})

    alone, among = reasoner.propose(plain, skill), reasoner.propose(told, skill)

    assert (alone.reinforced, alone.weakened, alone.reasons) == (among.reinforced, among.weakened, among.reasons)
    assert sorted(map(str, alone.discovered)) == sorted(map(str, among.discovered))
    assert [f.dimension for f in alone.discovered] == [f.dimension for f in among.discovered]
    if not set(facts(*about)) & set(alone.discovered):
        assert alone == among
