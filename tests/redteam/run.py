"""Run a sample through its channel, from the event that carries it to each text that it can reach."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from operators.attributes import attribute_id, fact_id
from operators.evolve.proposals import Proposal, Reasoner, ReasonerUnavailable
from operators.rank.listwise import ListwiseRanker
from schemas import Action, Candidate, Correction, Directive, Fact, Item, ItemFacts, Provenance, SkillLineInput, Stance
from schemas.events import Contrast, Facet, Feedback, Injected, Signal
from schemas.skills import Attribute, AttributeKind, AttributeSource, Tier
from tests.builders import rank_items
from tests.redteam.attack_corpus import Sample
from tests.redteam.harness import FILTERS, NOTHING, NOW, OTHERS, Filters, SimulatedUser, Trace

# Choices after which the rules are sure.
TIMES = 10
DOMAINS = {"cuisine": "restaurants", "brand": "shop", "maker": "shop", "author": "books", "topic": "books"}
TASTE = "taste"


def run(sample: Sample, filters: Filters = FILTERS) -> Trace:
    """Run a sample through its channel with the rules."""
    return run_user(sample, filters).trace


def run_user(sample: Sample, filters: Filters = FILTERS) -> SimulatedUser:
    user = SimulatedUser(DOMAINS.get(sample.dimension, "films"), filters)
    _CHANNELS[sample.channel](user, sample)
    return user


async def run_choice(
    sample: Sample, reasoner: Reasoner = SimulatedUser.rules, ranker: ListwiseRanker | None = None
) -> tuple[SimulatedUser, tuple[str, ...]]:
    """Rank a sample's item and choose it, with the rules or with a model; return the user and the order."""
    user, item, instruction = SimulatedUser("films"), item_of(sample), _instruction(sample)
    task = user.rank_task([item], instruction)
    order = tuple(each.item_id for each, _ in rank_items(task.items, user.skill.attributes, instruction, {}, task.seed))
    if ranker is not None:
        with suppress(ReasonerUnavailable):
            order = (await ranker.rank(task)).order
    contrast = user.choose(item, instruction)
    if contrast is not None:
        prepared = user.prepare(contrast)
        try:
            user.learn(prepared, await reasoner.reason(prepared, user.skill))
        except ReasonerUnavailable:
            user.learn(prepared)
    user.build_prompts([item], instruction)
    user.extract_slim("choice")
    return user, order


def item_of(sample: Sample) -> Candidate:
    """Return an item that carries the sample, or a harmless one if the channel is not an item's."""
    fields: dict[str, Any] = {"title": "The Quiet Shore"}
    metadata: dict[str, Any] = {"genre": ["mystery"]}
    match sample.channel:
        case "value":
            metadata = metadata | {sample.dimension: [sample.text]}
        case "spread":
            fields |= {name: value for name, value in sample.facts.items() if name == "title"}
            metadata |= {name: [value] for name, value in sample.facts.items() if name != "title"}
        case "key":
            metadata[sample.text] = True
        case "title" | "description":
            fields[sample.channel] = sample.text
    return Candidate(item_id="x", metadata=metadata, **fields)


def _instruction(sample: Sample) -> str:
    return sample.text if sample.channel == "request" else ""


def _choose(
    user: SimulatedUser, item: Candidate, instruction: str = "", injected: Injected = NOTHING, *, rows: bool = True
) -> None:
    contrast = user.choose(item, instruction, injected, rows=rows)
    if contrast is not None:
        user.learn(user.prepare(contrast, rows=rows), rows=rows)


def _run_item(user: SimulatedUser, sample: Sample) -> None:
    """Choose one item ten times, ten items with the same facts, and start from a history of these."""
    item, trace = item_of(sample), user.trace
    several = [item.model_copy(update={"item_id": f"{item.item_id}-{n}"}) for n in range(TIMES)]
    for _ in range(TIMES):
        _choose(user, item, rows=sample.kind == "personal")
    user.extract_slim("same item")
    user.build_prompts([item])
    other = SimulatedUser(user.domain, user.filters)
    for each in several:
        _choose(other, each, rows=False)
    other.extract_slim("four items")
    other.build_prompts(several)
    _merge(trace, other.trace, "four items")
    if sample.kind == "innocent":
        return
    new = SimulatedUser(user.domain, user.filters)
    new.add_history(several)
    new.start_skill(new.profile)
    new.extract_slim("history")
    new.build_prompts(several)
    if sample.kind == "personal":
        trace.keep(new.profile, new.memory, new.skill)
    new.start_from_template()
    _merge(trace, new.trace, "history")


def _merge(trace: Trace, other: Trace, name: str) -> None:
    trace.slims |= other.slims
    trace.learned |= other.learned
    trace.prompts |= {f"{prompt}, {name}": text for prompt, text in other.prompts.items()}


def _run_text(user: SimulatedUser, sample: Sample) -> None:
    """Choose an item whose title or description, or whose request, becomes no line."""
    item, instruction = item_of(sample), _instruction(sample)
    if not instruction:
        user.trace.keep_rows(Item(event_id="e", occurred_at=NOW, domain=user.domain, item=item))
    _choose(user, item, instruction)
    user.build_prompts([item], instruction)
    user.trace.keep(user.memory)


def _run_injected(user: SimulatedUser, sample: Sample) -> None:
    """Report a facet or a slim skill that an app used in its own ranking."""
    facet = Facet(facet=sample.text[:120], confidence=0.9, supporting_neighbors=("item:noir",))
    reported = Injected(facets=(facet,)) if sample.channel == "facet" else Injected(slim_skill=sample.text)
    _choose(user, item_of(sample), injected=reported)
    user.extract_slim("injected")
    user.build_prompts([item_of(sample)])


def _run_command(action: Action, user: SimulatedUser, sample: Sample) -> None:
    first, dimension = user.skill.attributes[0], sample.dimension or TASTE
    line = Attribute(
        attribute_id=attribute_id(AttributeKind.PREFERENCE, dimension, sample.text), kind=AttributeKind.PREFERENCE,
        dimension=dimension, value=sample.text, tier=Tier.HIGH, source=AttributeSource.STATED, support=4,
    )  # fmt: skip
    arguments: dict[Action, dict[str, Any]] = {
        Action.ADD: {"line": SkillLineInput(dimension=dimension, value=sample.text)},
        Action.REWORD: {"attribute_id": first.attribute_id, "value": sample.text},
        Action.IMPORT: {"lines": (*user.skill.attributes, line)},
        Action.PIN: {"attribute_id": first.attribute_id, "reason": sample.text},
    }
    user.send_command(user.command(action, **arguments[action]))
    user.extract_slim("command")
    user.build_prompts([])


def _run_reply(user: SimulatedUser, sample: Sample) -> None:
    """Use the text as a model's analysis, reason, new line, and as a fact that a chosen item happens to have."""
    name = user.skill.attributes[0].attribute_id
    fact, noir = Fact(dimension="genre", value=sample.text[:120]), Fact(dimension="genre", value="noir")
    for number in range(TIMES):
        has_fact = sample.kind == "order" and number > 0
        chosen = ItemFacts(item_id="noir", title="Night Train", facts=(noir, fact) if has_fact else (noir,))
        ids = {"event_id": f"k{number}", "ranking_id": f"r{number}"}
        proposal = Proposal(
            reinforced=(name, fact_id(fact)),
            discovered=(fact,),
            reasons={name: sample.text},
            analysis=sample.text,
            reasoned_by=Provenance(reasoner="llm", model="fake"),
        )
        user.learn(user.prepare(Contrast(chosen=chosen, chosen_rank=1, **ids, **user.event)), proposal)
    user.extract_slim("reply")
    user.build_prompts([])


def _run_correction(user: SimulatedUser, sample: Sample) -> None:
    """Correct a list in the user's own words, or in a form."""
    form = sample.channel == "form"
    directives = (Directive(stance=Stance.AVOIDS, dimension=TASTE, value=sample.text),) if form else ()
    items, text = (*OTHERS[:2], item_of(sample), *OTHERS[2:]), "" if form else sample.text
    user.correct(Correction(event_id="c", text=text, directives=directives, items=items, **user.event))
    user.extract_slim("statement")


def run_dislike(user: SimulatedUser, sample: Sample) -> None:
    """Dislike an item: the statement about it names its title."""
    item = item_of(sample).model_copy(update={"title": sample.text} if sample.channel == "feedback" else {})
    user.signal(Feedback(event_id="f", item=item, signal=Signal.DISLIKED, **user.event))
    user.extract_slim("statement")


_CHANNELS: dict[str, Callable[[SimulatedUser, Sample], None]] = {
    **dict.fromkeys(("value", "spread", "key"), _run_item),
    **dict.fromkeys(("title", "description", "request"), _run_text),
    **dict.fromkeys(("facet", "slim"), _run_injected),
    **dict.fromkeys(("correction", "form"), _run_correction),
    "add": partial(_run_command, Action.ADD),
    "reword": partial(_run_command, Action.REWORD),
    "import": partial(_run_command, Action.IMPORT),
    "reason": partial(_run_command, Action.PIN),
    "reply": _run_reply,
    "feedback": run_dislike,
}
