"""A sample played from where it comes in to everything that it could reach."""

from collections.abc import Callable
from typing import Any

from operators.attributes import attribute_id, fact_id
from operators.evolve import Proposal
from schemas import (
    Action,
    Attribute,
    AttributeKind,
    AttributeSource,
    Contrast,
    Facet,
    Injected,
    Provenance,
    SkillLineInput,
    Tier,
)
from schemas.items import Candidate, Fact, Item, ItemFacts
from tests.redteam.person import FILTERS, NOW, Filters, Person, Trace, copies
from tests.redteam.samples import Sample

TIMES = 4
"""So often it is chosen: by then the rules are sure."""
DOMAINS = {"cuisine": "restaurants", "brand": "shop", "maker": "shop", "author": "books", "topic": "books"}
TASTE = "taste"


def play(sample: Sample, filters: Filters = FILTERS) -> Trace:
    """What a sample leaves behind."""
    person = Person(DOMAINS.get(sample.dimension, "films"), filters)
    _CHANNELS[sample.channel](person, sample)
    return person.trace


def item_of(sample: Sample) -> Candidate:
    """The item that the sample is, or says something of."""
    said: dict[str, Any] = {"title": "The Quiet Shore"}
    metadata: dict[str, Any] = {"genre": ["mystery"]}
    match sample.channel:
        case "value":
            metadata = metadata | {sample.dimension: [sample.text]}
        case "spread":
            said |= {name: value for name, value in sample.facts.items() if name == "title"}
            metadata |= {name: [value] for name, value in sample.facts.items() if name != "title"}
        case "key":
            metadata[sample.text] = True
        case "title" | "description":
            said[sample.channel] = sample.text
    return Candidate(item_id="x", metadata=metadata, **said)


def _of_an_item(person: Person, sample: Sample) -> None:
    """Four times the same item, four items that say the same, and a past full of them."""
    item, trace = item_of(sample), person.trace
    several = copies(item, TIMES)
    for _ in range(TIMES):
        person.chooses(item, rows=sample.kind == "personal")
    person.hands_out("same item")
    person.is_asked_about([item])
    other = Person(person.domain, person.filters)
    for each in several:
        other.chooses(each, rows=False)
    other.hands_out("four items")
    other.is_asked_about(several)
    _add(trace, other.trace, "four items")
    if sample.kind == "innocent":
        return
    new = Person(person.domain, person.filters)
    new.has_a_past(several)
    new.begins(new.profile)
    new.hands_out("past")
    new.is_asked_about(several)
    if sample.kind == "personal":
        trace.keep(new.profile, new.memory, new.skill)
    new.becomes_the_template()
    _add(trace, new.trace, "past")


def _add(trace: Trace, other: Trace, name: str) -> None:
    trace.slims |= other.slims
    trace.learned |= other.learned
    trace.prompts |= {f"{asked}, {name}": text for asked, text in other.prompts.items()}


def _of_a_work(person: Person, sample: Sample) -> None:
    """A text of which no line is made: it is shown, and kept."""
    item, trace = item_of(sample), person.trace
    trace.keep_rows(Item(event_id="e", occurred_at=NOW, domain=person.domain, item=item))
    person.chooses(item)
    person.is_asked_about([item])
    trace.keep(person.memory)


def _asks(person: Person, sample: Sample) -> None:
    item = Candidate(item_id="x", title="The Quiet Shore", metadata={"genre": ["mystery"]})
    person.chooses(item, sample.text)
    person.is_asked_about([item], sample.text)
    person.trace.keep(person.memory)


def _adds(person: Person, sample: Sample) -> None:
    said = SkillLineInput(dimension=sample.dimension or TASTE, value=sample.text)
    _commands(person, person.command(Action.ADD, line=said))


def _rewords(person: Person, sample: Sample) -> None:
    name = person.skill.attributes[0].attribute_id
    _commands(person, person.command(Action.REWORD, attribute_id=name, value=sample.text))


def _imports(person: Person, sample: Sample) -> None:
    dimension = sample.dimension or TASTE
    line = Attribute(
        attribute_id=attribute_id(AttributeKind.PREFERENCE, dimension, sample.text),
        kind=AttributeKind.PREFERENCE,
        dimension=dimension,
        value=sample.text,
        tier=Tier.HIGH,
        source=AttributeSource.STATED,
        support=4,
    )
    _commands(person, person.command(Action.IMPORT, lines=(*person.skill.attributes, line)))


def _gives_a_reason(person: Person, sample: Sample) -> None:
    name = person.skill.attributes[0].attribute_id
    _commands(person, person.command(Action.PIN, attribute_id=name, reason=sample.text))


def _commands(person: Person, command: Any) -> None:
    person.says(command)
    person.hands_out("command")
    person.is_asked_about([])


def _is_told_by_a_model(person: Person, sample: Sample) -> None:
    """As its analysis, as a reason, as a line to bring in, and as a fact that a chosen item happens to have."""
    name = person.skill.attributes[0].attribute_id
    fact = Fact(dimension="genre", value=sample.text[:120])
    chosen = ItemFacts(item_id="noir", title="Night Train", facts=(Fact(dimension="genre", value="noir"),))
    for number in range(TIMES):
        has_it = sample.kind == "order" and number > 0
        contrast = Contrast(
            event_id=f"k{number}",
            ranking_id=f"r{number}",
            chosen=chosen.model_copy(update={"facts": (*chosen.facts, fact)}) if has_it else chosen,
            chosen_rank=1,
            **person.user,
        )
        proposal = Proposal(
            reinforced=(name, fact_id(fact)),
            discovered=(fact,),
            reasons={name: sample.text},
            analysis=sample.text,
            reasoned_by=Provenance(reasoner="llm", model="fake"),
        )
        person.learns(contrast, proposal)
    person.hands_out("reply")
    person.is_asked_about([])


def _is_injected(person: Person, sample: Sample) -> None:
    """What an app says that it put into its ranking."""
    item = Candidate(item_id="x", title="The Quiet Shore", metadata={"genre": ["mystery"]})
    facet = Facet(facet=sample.text[:120], confidence=0.9, supporting_neighbors=("item:noir",))
    said = Injected(facets=(facet,)) if sample.channel == "facet" else Injected(slim_skill=sample.text)
    person.chooses(item, injected=said)
    person.hands_out("injected")
    person.is_asked_about([item])


_CHANNELS: dict[str, Callable[[Person, Sample], None]] = {
    "value": _of_an_item,
    "spread": _of_an_item,
    "key": _of_an_item,
    "title": _of_a_work,
    "description": _of_a_work,
    "request": _asks,
    "add": _adds,
    "reword": _rewords,
    "import": _imports,
    "reason": _gives_a_reason,
    "reply": _is_told_by_a_model,
    "facet": _is_injected,
    "slim": _is_injected,
}
