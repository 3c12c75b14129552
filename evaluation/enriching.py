"""Measures what a model adds per call: one call per item, or one per choice.

    python -m evaluation.enriching --data DIR [--items N] [--choices N] [--users N] [--results FILE]

Reads the most taken items with a description (`SAGER_ENRICH=llm`), and asks the reasoner about choices among them
(`SAGER_REASONER=llm`). Prints a JSON object for each: calls, facts of the texts per call, and the share of facts whose
words stand in at least three of the texts, so that choices can confirm them. `hit` compares the skill's Hit@1 on
choices among these items, without and with the quoted facts. `--results` stores replies, so that a run resumes.
"""

import argparse
import asyncio
import gzip
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from evaluation.dataset import Sequences, sequences
from evaluation.measures import minus, summary
from evaluation.plans import ListKind, Plan, plans
from evaluation.replies import CachedClient, Replies, client_of
from evaluation.skill_arms import SAGER, STREAM_RULES, RankBy
from evaluation.stream import simulate_user
from operators.evolve.llm import LlmReasoner
from operators.evolve.proposals import CountsReasoner, Proposal, ReasonerUnavailable
from operators.evolve.quotes import mentions
from operators.statinit import facts_of, parser_for
from operators.steps.enrich import LlmEnricher
from schemas import MAX_FACTS, Contrast, Fact, ItemFacts, PolicySkill
from streams.policies import DEFAULT_GATE as GATE
from streams.policies import DEFAULT_PRIVACY as PRIVACY
from streams.settings import Settings

HISTORY, RECURS = 3, 3
PLAIN, ENRICHED, RECURRING = "without", "all quoted facts", "those of three items"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, metavar="DIR")
    parser.add_argument("--items", type=int, default=75)
    parser.add_argument("--choices", type=int, default=75)
    parser.add_argument("--users", type=int, default=300)
    parser.add_argument("--results", type=Path, metavar="FILE")
    args = parser.parse_args()
    replies = Replies(args.results)
    for found in asyncio.run(measure(args, client_of(Settings(), replies))):
        print(json.dumps(found), flush=True)


async def measure(args: argparse.Namespace, client: CachedClient) -> list[dict[str, Any]]:
    """Both kinds of calls, and the effect of the facts on rankings."""
    found = sequences(args.data)
    parse = parser_for(found.domain, {})
    read = {item_id: facts_of(item, parse, with_excerpt=True) for item_id, item in found.items.items()}
    often = [item_id for item_id, _ in Counter(found.popularity).most_common() if read[item_id].excerpt]
    items = {item_id: read[item_id] for item_id in often[: args.items]}
    quoted = await per_item(items, found.domain, client)
    facts = [fact for each in quoted.values() for fact in each]
    lines = [{"figure": "per item", **added(len(items), facts, items), "examples": examples(facts)}]
    for plan in narrowed(found, items, args.users):
        discovered = await per_choice(plan, items, args.choices, client)
        lines.append(
            {"figure": "per choice", **added(args.choices, discovered, items), "examples": examples(discovered)}
        )
        lines.append({"figure": "hit", **await hit(plan, quoted)})
    return lines


async def per_item(items: dict[str, ItemFacts], domain: str, client: CachedClient) -> dict[str, tuple[Fact, ...]]:
    """The facts that the model quotes from each item."""
    found: dict[str, tuple[Fact, ...]] = {}
    for item_id, item in items.items():
        safe, _ = PRIVACY.item(item, domain)
        enricher, found[item_id] = LlmEnricher(client, GATE, PRIVACY), ()
        with suppress(ReasonerUnavailable):
            if question := enricher.question(safe, domain):
                found[item_id] = await enricher.quote(question)
    return found


async def per_choice(plan: Plan, items: dict[str, ItemFacts], most: int, client: CachedClient) -> list[Fact]:
    """The facts of texts that the reasoner discovers in the first choices."""
    found: list[Fact] = []
    asked = 0

    async def reason(contrast: Contrast, skill: PolicySkill) -> Proposal:
        nonlocal asked
        if asked >= most:
            return await CountsReasoner().reason(contrast, skill)
        asked += 1
        try:
            proposal = await LlmReasoner(client, GATE).reason(contrast, skill)
        except ReasonerUnavailable:
            return Proposal()
        found.extend(dict.fromkeys(each.fact for each in proposal.quoted))
        return proposal

    rule = replace(STREAM_RULES[SAGER], reason=lambda: reason)
    await simulate_user(rule, replace(plan, facts=items), (RankBy.SKILL,))
    return found


async def hit(plan: Plan, quoted: dict[str, tuple[Fact, ...]]) -> dict[str, Any]:
    """Hit@1 of the skill alone, without and with the quoted facts."""
    places, times = {}, Counter(fact for facts in quoted.values() for fact in facts)
    for name, least in ((PLAIN, len(quoted) + 1), (ENRICHED, 1), (RECURRING, RECURS)):
        facts = {
            item_id: item.model_copy(
                update={"facts": (*item.facts, *(f for f in quoted[item_id] if times[f] >= least))[:MAX_FACTS]}
            )
            for item_id, item in plan.facts.items()
        }
        result = await simulate_user(STREAM_RULES[SAGER], replace(plan, facts=facts), (RankBy.SKILL,))
        places[name] = result.places[RankBy.SKILL]
    figures = {name: summary(found) for name, found in places.items()}
    return {
        "users": figures[PLAIN].users,
        "choices": figures[PLAIN].choices,
        "hit_at_1": {name: round(found.hit_at_1, 4) for name, found in figures.items()},
        "gain": {name: minus(places[name], places[PLAIN], 0).as_json() for name in (ENRICHED, RECURRING)},
    }


def narrowed(found: Sequences, items: dict[str, ItemFacts], users: int) -> Iterator[Plan]:
    """Choices among these items alone."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / found.data
        path.mkdir()
        kept = [found.items[item_id].model_dump() for item_id in items]
        rows = [{"domain": found.domain, **item.pop("metadata"), **item} for item in kept]
        visits = [
            {"user_id": user_id, "item_id": visit.item_id, "order": place}
            for user_id, of_user in found.visits.items()
            for place, visit in enumerate(of_user)
            if visit.item_id in items
        ]
        for name, lines in (("items", rows), ("interactions", visits)):
            with gzip.open(path / f"{name}.jsonl.gz", "wt", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
        yield from plans(path, [ListKind.UNIFORM], [HISTORY], users)


def added(calls: int, facts: Sequence[Fact], items: dict[str, ItemFacts]) -> dict[str, Any]:
    """Facts per call, different ones, and the shares that recur."""
    texts = [(item.title, item.excerpt) for item in items.values()]
    recurring = {fact for fact in facts if sum(mentions(text, fact.value) for text in texts) >= RECURS}
    times = Counter(facts)
    return {
        "calls": calls,
        "facts_per_call": round(len(facts) / calls, 2),
        "different": len(times),
        "recurring_per_call": round(len(recurring) / calls, 2),
        "in_three_texts": round(sum(fact in recurring for fact in facts) / max(1, len(facts)), 3),
        "quoted_three_times": round(sum(times[fact] >= RECURS for fact in facts) / max(1, len(facts)), 3),
    }


def examples(facts: Sequence[Fact]) -> list[str]:
    """The most frequent facts."""
    return [f"{fact.value} {times}" for fact, times in Counter(facts).most_common(30)]


if __name__ == "__main__":
    main()
