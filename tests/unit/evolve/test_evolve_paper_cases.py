"""The two cases of the paper's appendix B, from metadata to slim skill: StatInit, then a model's verdicts over HTTP.

The model is scripted to say what the paper's said. What is tested is what becomes of it: tiers, discoveries, slim skill
and ranking. Where our rules differ from the paper's, the test says so.
"""

from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from typing import Any

import pytest

from operators.evolve import validate
from operators.evolve.llm import LlmReasoner
from operators.learning.fold import initial_skill, merge
from operators.learning.prior import observe, statinit
from operators.learning.tiers import resolve_tiers
from operators.slim import slim
from operators.statinit import facts_of, parser_for
from schemas import AttributeSource, Candidate, Interaction, ItemFacts, PolicySkill, Tier, Verdict
from streams.llm.client import LlmClient
from streams.output_gate import DEFAULT as OUTPUT_GATE
from streams.privacy import DEFAULT as PRIVACY
from tests.builders import NOW, USER, a_contrast, a_selection
from tests.openai_server import Act, OpenAiServer
from tests.unit.llm.llm_builders import client_of

RATING = "criterion:rating:highly-rated"
INDIAN, TOBACCO = "preference:category:indian", "preference:category:tobacco-shops"


@pytest.fixture
async def server() -> AsyncIterator[OpenAiServer]:
    async with OpenAiServer() as running:
        yield running


@pytest.fixture
async def client(server: OpenAiServer) -> AsyncIterator[LlmClient]:
    made = client_of(server)
    yield made
    await made.aclose()


def item(domain: str, item_id: str, title: str, description: str = "", **metadata: Any) -> ItemFacts:
    candidate = Candidate(item_id=item_id, title=title, description=description, metadata=metadata)
    return facts_of(candidate, parser_for(domain, {}))


def begun(domain: str, history: Sequence[ItemFacts]) -> PolicySkill:
    """The skill by StatInit alone: tau = 0, no call."""
    profile = None
    for number, taken in enumerate(history):
        event = Interaction(
            event_id=f"visit-{number}",
            occurred_at=NOW + timedelta(days=number),
            user_id=USER,
            domain=domain,
            item=Candidate(item_id=taken.item_id),
        )
        profile = observe(profile, event, taken.facts)
    return initial_skill(USER, domain, statinit(profile), a_selection())


def tiers(skill: PolicySkill) -> dict[str, tuple[Tier, AttributeSource]]:
    return {line.attribute_id: (line.tier, line.source) for line in skill.attributes}


def place(number: int, name: str, categories: str, stars: float = 3.0) -> ItemFacts:
    return item(
        "yelp",
        f"place-{number}",
        name,
        categories=f"Restaurants, Food, {categories}",
        city="Las Vegas",
        stars=stars,
        attributes={"RestaurantsPriceRange2": "2", "Ambience.casual": "True"},
    )


async def test_case_a_what_two_choices_reveal_was_invisible_in_the_frequencies(
    server: OpenAiServer, client: LlmClient
) -> None:
    kinds = ("Pizza", "Burgers", "Ramen", "Tacos", "Pizza", "Sushi Bars", "Burgers", "Diners", "Pizza")
    visits = [place(n, f"{kind} {n}", kind, stars=4.5 if n == 0 else 3.0) for n, kind in enumerate(kinds)]
    skill = begun("yelp", visits)

    known = tiers(skill)
    for name in ("preference:price:$$", "preference:ambience:casual", "preference:city:las-vegas"):
        assert known[name] == (Tier.HIGH, AttributeSource.PRIOR), name
    assert known[RATING] == (Tier.LOW, AttributeSource.PRIOR)
    assert not {INDIAN, TOBACCO} & set(known)

    reasoner = LlmReasoner(client, gate=OUTPUT_GATE)
    rated = {"rating_highly_rated": {"fact": "rating: highly rated", "verdict": "supports"}}
    quiet = {"discovered": []}
    warmup = [
        (place(20, "The Egg Stand", "Diners", stars=4.5), rated | quiet),
        (
            place(21, "Masala and More", "Indian, Tobacco Shops", stars=4.5),
            rated | {"discovered": ["category: indian", "category: tobacco shops"]},
        ),
    ]
    left = [place(30 + n, f"Left {n}", kind) for n, kind in enumerate(("Pizza", "Burgers", "Ramen"))]
    reached = []
    for number, (chosen, says) in enumerate(warmup, 1):
        server.then(Act(says={"analysis": "It is rated higher than those that were left.", **says}))
        contrast = a_contrast(chosen, event_id=f"tau-{number}", domain="yelp")
        contrast = contrast.model_copy(update={"unchosen": tuple(left)})
        proposal = await reasoner.reason(contrast, skill)
        diff = resolve_tiers(skill, validate(proposal, skill, contrast, privacy=PRIVACY), contrast)
        skill = merge(skill, diff)
        reached.append(tiers(skill)[RATING][0])
        assert diff.analysis == "It is rated higher than those that were left."
        assert {said.attribute_id: said.verdict for said in diff.judged}[RATING] is Verdict.SUPPORTS

    assert reached == [Tier.MEDIUM, Tier.HIGH]
    known = tiers(skill)
    assert known[INDIAN] == known[TOBACCO] == (Tier.LOW, AttributeSource.DISCOVERED)
    for name in ("preference:price:$$", "preference:ambience:casual", "preference:city:las-vegas"):
        assert known[name][0] is Tier.HIGH, "one choice does not touch what a long history says"
    # The paper's slim skill has "Restaurants" and "Food" too, which nearly all places share: our parser drops them.
    short = slim(skill, 30, gate=OUTPUT_GATE)
    assert not {"indian", "tobacco shops"} & set(short.likes), "what is low is not told"
