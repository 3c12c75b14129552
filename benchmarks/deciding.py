"""Measures how well skills learn trade-offs, and how many lines they learn by luck.

    python -m benchmarks.deciding --panels DIR [--data DIR ...] [--users N]

Each folder in `--panels` has lists that people saw (docs/datasets.md); `--data` is a data set of visits, with drawn
lists. Prints a JSON object per figure:

* `panel`: Hit@1 of three arms, and the product's gain; `one by one`: a choice is an approval and a rejection.
* `blind`: medium lines per person if all choose at random, and if they choose as they did.
* `planted`: how soon a line finds a rule that people follow, but for one slip in ten. A fifth of the people follow it,
  the others choose as they did; each person is once among the fifth. If the lists are `shuffled`, each attribute by
  itself, other lines are invented.
* `saved`: misses that a medium line saves in 40 later choices: `alone`, if only the skill ranks, and `beyond_domain`,
  if the domain's weights rank too.
"""

import argparse
import asyncio
import json
import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from evaluation.lists import logged_plan, one_by_one
from evaluation.measures import minus, ratio, summary
from evaluation.plans import Choice, ListKind, Plan, plans
from evaluation.simulation import Turn, simulate
from evaluation.skill_arms import FORMER, POPULATION, SAGER, STREAM_RULES, RankBy, SkillArm
from evaluation.stream import choose, in_order, simulate_user
from operators.history import miss_saved
from operators.learning.number_lines import number_line_id
from schemas import Attribute, AttributeSource, ItemFacts, Tier
from streams.importers.dataset import Visit

LATER = 40
SLIP = 0.1
PARTS = 5
SOON = 8
LEAST = ("price", "length")
_EARNED = (AttributeSource.PRIOR, AttributeSource.DISCOVERED)
Look = Callable[[SkillArm, Turn[Choice]], object]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--panels", type=Path, required=True, metavar="DIR")
    parser.add_argument("--data", type=Path, action="append", default=[], metavar="DIR")
    parser.add_argument("--users", type=int, default=60, help="of each data set")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    for folder in sorted(filter(Path.is_dir, args.panels.iterdir())):
        plan = logged_plan(folder, domain=folder.name)
        for figures in (panel, blind, planted, saved):
            for found in figures(plan, args.seed):
                print(json.dumps({"figure": figures.__name__, "data": plan.data, **found}), flush=True)
    for folder in args.data:
        for plan in plans(folder, [ListKind.UNIFORM], [3], args.users, seed=args.seed):
            for found in blind(plan, args.seed):
                print(json.dumps({"figure": "blind", "data": plan.data, **found}), flush=True)


def panel(plan: Plan, seed: int) -> Iterator[dict[str, Any]]:
    """Hit@1 of the product, of the domain alone, and of the former rule; each choice also as two lists of one."""
    names = (POPULATION, FORMER, SAGER)
    for lists, played in (("as shown", plan), ("one by one", one_by_one(plan, seed))):
        results = [asyncio.run(simulate_user(STREAM_RULES[name], played, (RankBy.MIX,), seed)) for name in names]
        places = {result.arm.name: result.places[RankBy.MIX] for result in results}
        figures = {name: summary(found, seed) for name, found in places.items()}
        yield {
            "lists": lists,
            "people": len(played.choices),
            "choices": figures[SAGER].choices,
            "hit_at_1": {name: round(found.hit_at_1, 4) for name, found in figures.items()},
            "first_choice": {name: round(found.by_seen["0"], 4) for name, found in figures.items()},
            "gain": {name: minus(places[SAGER], places[name], seed).as_json() for name in names if name != SAGER},
        }


def blind(plan: Plan, seed: int) -> Iterator[dict[str, Any]]:
    """Medium lines of people who choose at random, without history."""
    chance = random.Random(seed)
    choices = {
        user_id: tuple(_taking(choice, chance.choice(choice.candidates)) for choice in of_user)
        for user_id, of_user in plan.choices.items()
    }
    blindly = replace(plan, choices=choices, past=dict.fromkeys(choices, ()))
    found: dict[str, Any] = {"people": len(choices)}
    for name, played in (("blind", blindly), ("real", plan)):
        arm = play(played, seed)
        found[name] = round(sum(len(_said(arm, user_id)) for user_id in choices) / len(choices), 3)
    yield found


def planted(plan: Plan, seed: int) -> Iterator[dict[str, Any]]:
    """How soon lines find the least price, and the least length."""
    for lists, of_lists in (("as shown", plan), ("shuffled", shuffled(plan, seed))):
        for number in LEAST:
            if any(number in item.measures for item in plan.facts.values()):
                yield {"lists": lists, **found_rule(of_lists, number, seed)}


def found_rule(plan: Plan, number: str, seed: int) -> dict[str, Any]:
    """How soon a line finds the least of a number, and other medium lines per person."""
    line_id, after, others = number_line_id(number, more=False), dict[str, int](), 0
    for part in range(PARTS):
        followers = sorted(plan.choices)[part::PARTS]
        arm = play(following(plan, number, followers, seed), seed, partial(_note, line_id, followers, after))
        for user_id in followers:
            ids = {line.attribute_id for line in _said(arm, user_id)}
            if line_id in ids:
                after.setdefault(user_id, arm.skills[user_id].contrasts)
            others += len(ids - {line_id})
    able = [user_id for user_id, of_user in plan.choices.items() if len(of_user) >= SOON]
    return {
        "least": number,
        "people": len(plan.choices),
        "found": round(len(after) / len(plan.choices), 3),
        f"within_{SOON}": round(sum(after.get(user_id, SOON + 1) <= SOON for user_id in able) / max(1, len(able)), 3),
        "median_choices": median(after.values()) if after else None,
        "other_lines": round(others / len(plan.choices), 3),
    }


def _note(line_id: str, followers: Collection[str], after: dict[str, int], arm: SkillArm, turn: Turn[Choice]) -> None:
    """Note the number of choices after which a follower's skill first has the line."""
    if turn.user_id in followers and any(line.attribute_id == line_id for line in _said(arm, turn.user_id)):
        after.setdefault(turn.user_id, arm.skills[turn.user_id].contrasts)


def saved(plan: Plan, seed: int) -> Iterator[dict[str, Any]]:
    """Misses that medium lines save in 40 later choices."""
    gains: dict[str, dict[str, list[float]]] = {way: defaultdict(list) for way in ("alone", "beyond_domain")}
    lines = set[tuple[str, str]]()

    def look(arm: SkillArm, turn: Turn[Choice]) -> None:
        user_id, choice, skill = turn.user_id, turn.shown, arm.skills[turn.user_id]
        names = sorted(choice.candidates, key=lambda name: name != choice.taken.item_id)
        items = [plan.facts[name] for name in names]
        for line in _said(arm, user_id):
            lines.add((user_id, line.attribute_id))
            gains["alone"][user_id].append(miss_saved(skill, items, line.attribute_id))
            gains["beyond_domain"][user_id].append(miss_saved(skill, items, line.attribute_id, arm.weights))

    play(plan, seed, look)
    found: dict[str, Any] = {"lines": len(lines), "people": len(gains["alone"])}
    for way, of_user in gains.items():
        if of_user:
            sums, counts = [LATER * sum(each) for each in of_user.values()], list(map(len, of_user.values()))
            mean = ratio(sums, counts, seed)
            found[way] = {"per_40": round(mean.value, 2), "ci95": [round(bound, 2) for bound in mean.ci95 or ()]}
    yield found


def play(plan: Plan, seed: int, look: Look = lambda *_: None) -> SkillArm:
    """The product after a plan; `look` is called before each choice."""
    arm = SkillArm(STREAM_RULES[SAGER], plan)
    asyncio.run(simulate(in_order(plan, seed), arm, choose, lambda turn, *_: look(arm, turn)))
    return arm


def following(plan: Plan, number: str, followers: Collection[str], seed: int) -> Plan:
    """The plan if some people take the least of a number, with slips."""
    chance = random.Random(f"{seed}/{number}")

    def least(choice: Choice) -> str:
        known = {name: plan.facts[name].measures.get(number) for name in choice.candidates}
        values = [value for value in known.values() if value is not None]
        if not values or chance.random() < SLIP:
            return chance.choice(choice.candidates)
        return chance.choice([name for name, value in known.items() if value == min(values)])

    changed = {user_id: tuple(_taking(each, least(each)) for each in plan.choices[user_id]) for user_id in followers}
    return replace(plan, choices={**plan.choices, **changed})


def shuffled(plan: Plan, seed: int) -> Plan:
    """The plan with the values of each attribute shuffled within each list."""
    chance = random.Random(seed)
    facts: dict[str, ItemFacts] = {}
    choices: dict[str, tuple[Choice, ...]] = {}
    for user_id, of_user in plan.choices.items():
        made = []
        for choice in of_user:
            items = _shuffled([plan.facts[name] for name in choice.candidates], choice.request_id, chance)
            facts |= {item.item_id: item for item in items}
            names = tuple(item.item_id for item in items)
            taken = names[choice.candidates.index(choice.taken.item_id)]
            made.append(_taking(replace(choice, candidates=names), taken))
        choices[user_id] = tuple(made)
    return replace(plan, facts=facts, choices=choices)


def _shuffled(items: list[ItemFacts], list_id: str, chance: random.Random) -> list[ItemFacts]:
    names = {fact.dimension for item in items for fact in item.facts} | {
        name for item in items for name in item.measures
    }
    order = {name: chance.sample(range(len(items)), len(items)) for name in sorted(names)}
    return [
        ItemFacts(
            item_id=f"{list_id}-{place}",
            facts=[fact for name in order for fact in items[order[name][place]].facts if fact.dimension == name],
            measures={
                name: value for name in order if (value := items[order[name][place]].measures.get(name)) is not None
            },
        )
        for place in range(len(items))
    ]


def _taking(choice: Choice, item_id: str) -> Choice:
    return replace(choice, taken=Visit(item_id, choice.taken.at))


def _said(arm: SkillArm, user_id: str) -> list[Attribute]:
    """The earned lines that a slim skill may have."""
    lines = arm.skills[user_id].attributes
    return [line for line in lines if line.tier >= Tier.MEDIUM and line.source in _EARNED]


if __name__ == "__main__":
    main()
