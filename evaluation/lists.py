"""Plans of real lists: what users were shown, and what they took."""

import random
from dataclasses import replace
from pathlib import Path

from evaluation.exceptions import QualityError
from evaluation.plans import Choice, Plan
from operators.statinit import facts_of, parser_for
from schemas import Candidate, GlobalSkill, derived_id
from streams.importers.dataset import BEGINNING, LoggedList, Visit
from streams.importers.loader import load


def logged_plan(path: Path, mapping: str | None = None, domain: str | None = None) -> Plan:
    """A plan of the lists in a file or a folder.

    Users start without history, and the community is empty: only choices before this one teach anything. An item that
    is shown with other facts than before is another item. Of lists without a choice, those of one item are rejections;
    longer ones are left out.

    Raises:
        DataSetError: the files cannot be read.
        QualityError: fewer than two users took one item of a list.
    """
    data = load(path, domain=domain, mapping=mapping)
    items: dict[str, Candidate] = {}
    choices: dict[str, tuple[Choice, ...]] = {}
    for user_id, lists in data.lists.items():
        made = [_choice(data.domain, user_id, shown, items) for shown in lists if _is_played(shown)]
        if made:
            choices[user_id] = tuple(made)
    if len(choices) < 2:
        raise QualityError(f"{path} has {len(choices)} users who took one item of a list: at least 2 are needed")
    parser = parser_for(data.domain, {})
    empty = GlobalSkill(
        event_id=derived_id("population", data.domain), occurred_at=BEGINNING, domain=data.domain, users=0
    )
    return Plan(
        data=path.resolve().name,
        domain=data.domain,
        lists=None,
        history=0,
        items=items,
        facts={item_id: facts_of(item, parser) for item_id, item in items.items()},
        past=dict.fromkeys(choices, ()),
        choices=choices,
        populations=dict.fromkeys(choices, empty),
        has_times=data.has_times,
    )


def one_by_one(plan: Plan, seed: int) -> Plan:
    """Return each choice as an approval and a rejection of a left item, both lists of one, in a random order."""
    chance = random.Random(f"{seed}/one by one")
    choices = {}
    for user_id, of_user in plan.choices.items():
        parts: list[Choice] = []
        for choice in of_user:
            left = chance.choice([name for name in choice.candidates if name != choice.taken.item_id])
            both = [
                replace(choice, candidates=(choice.taken.item_id,), request_id=f"{choice.request_id}/taken"),
                replace(
                    choice,
                    candidates=(left,),
                    request_id=f"{choice.request_id}/left",
                    taken=Visit(left, choice.taken.at),
                    rejected=True,
                ),
            ]
            chance.shuffle(both)
            parts += both
        choices[user_id] = tuple(parts)
    return replace(plan, choices=choices)


def _is_played(shown: LoggedList) -> bool:
    return len(shown.taken) == 1 or (not shown.taken and len(shown.candidates) == 1)


def _choice(domain: str, user_id: str, shown: LoggedList, items: dict[str, Candidate]) -> Choice:
    names = {str(candidate.item_id): _known(candidate, items) for candidate in shown.candidates}
    return Choice(
        request_id=derived_id("list", domain, user_id, shown.list_id),
        taken=Visit(names[shown.taken[0] if shown.taken else shown.candidates[0].item_id], shown.at),
        candidates=tuple(names.values()),
        rejected=not shown.taken,
    )


def _known(candidate: Candidate, items: dict[str, Candidate]) -> str:
    """Return the id of these facts; another version of an item gets an id of its own."""
    number, name = 1, str(candidate.item_id)
    while name in items and items[name].metadata != candidate.metadata:
        number += 1
        name = f"{candidate.item_id}~{number}"
    items.setdefault(name, candidate.model_copy(update={"item_id": name}))
    return name
