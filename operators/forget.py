"""Forgetting, as pure functions: the receipt after a request, and state without one of a person's lines."""

from collections.abc import Mapping
from datetime import datetime
from typing import TypeVar

from operators.attributes import fact_id
from schemas import Fact, ForgetRequest, Forgotten, ItemFacts, Memory, Profile, Receipt, line_of
from schemas.forgetting import MAX_DOMAINS, MAX_LINES

_Name = TypeVar("_Name", bound=str)


def with_scope(receipt: Receipt, request: ForgetRequest, scope: Forgotten) -> Receipt:
    """The receipt after this request. What a wider scope covers needs no entry of its own any more.

    Beyond the bounds of a receipt the oldest entries are widened to the person: from what happened before them nothing
    is learned any more. A receipt may cover more than was asked for, never less.
    """
    person, domains, lines = receipt.person, dict(receipt.domains), dict(receipt.lines)
    if request.line is not None:
        lines[request.line] = scope
    elif request.domain is not None:
        domains[request.domain] = scope
    else:
        person = scope
    if person is not None and person.done:
        domains = {name: each for name, each in domains.items() if each.until > person.until}
        lines = {name: each for name, each in lines.items() if each.until > person.until}
    domains, older = _newest(domains, MAX_DOMAINS)
    lines, oldest = _newest(lines, MAX_LINES)
    for each in (*older, *oldest):
        if person is None or person.until < each.until:
            person = each
    return receipt.model_copy(
        update={
            "event_id": request.event_id,
            "occurred_at": request.occurred_at,
            "person": person,
            "domains": domains,
            "lines": lines,
        }
    )


def _newest(scopes: Mapping[_Name, Forgotten], most: int) -> tuple[dict[_Name, Forgotten], list[Forgotten]]:
    """The newest ones within the limit, and the others."""
    names = sorted(scopes, key=lambda name: scopes[name].until, reverse=True)
    return {name: scopes[name] for name in names[:most]}, [scopes[name] for name in names[most:]]


def without_lines(item: ItemFacts, user_id: str, domain: str, receipt: Receipt, at: datetime) -> ItemFacts:
    """The item without the facts of which this person had a line forgotten after this choice."""
    if not receipt.lines:
        return item
    kept = tuple(fact for fact in item.facts if not receipt.covers_line(line_of(user_id, domain, fact_id(fact)), at))
    return item if kept == item.facts else item.model_copy(update={"facts": kept})


def what_remains(
    item: ItemFacts, user_id: str, domain: str, receipt: Receipt | None, *moments: datetime
) -> ItemFacts | None:
    """What may be learned from a choice that happened at one of these moments; None if it is forgotten."""
    if receipt is None:
        return item
    if receipt.covers(domain, *moments):
        return None
    return without_lines(item, user_id, domain, receipt, min(moments))


def scrubbed_profile(profile: Profile, line: str) -> Profile:
    """The profile with nothing counted for the line of this digest."""

    def is_meant(fact: Fact) -> bool:
        return line_of(profile.user_id, profile.domain, fact_id(fact)) == line

    older = {
        dimension: {
            value: count for value, count in values.items() if not is_meant(Fact(dimension=dimension, value=value))
        }
        for dimension, values in profile.older.items()
    }
    recent = tuple(tuple(fact for fact in facts if not is_meant(fact)) for facts in profile.recent)
    return profile.model_copy(update={"older": older, "recent": recent})


def scrubbed_memory(memory: Memory, line: str) -> Memory:
    """The memory with the fact of the line of this digest on none of its items."""
    taken = tuple(
        each.model_copy(
            update={
                "facts": tuple(
                    fact for fact in each.facts if line_of(memory.user_id, memory.domain, fact_id(fact)) != line
                )
            }
        )
        for each in memory.taken
    )
    return memory.model_copy(update={"taken": taken, "version": memory.version + 1})
