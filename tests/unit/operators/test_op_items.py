"""An item that the parser or the privacy filter fails on: it is ranked, and nothing is learned from it."""

import pytest

from operators import contrast as joining
from operators.privacy import Privacy
from operators.statinit import read_item
from operators.statinit.parsers import BUILT_IN
from schemas import Candidate, Fact, ItemFacts, Ranking, encode
from streams.privacy import DEFAULT
from tests.builders import DOMAIN, a_candidate, a_position, a_ranking, a_selection, open_rankings

CIRCLED = "❶ One ❷ Two ❸ Three"


def raising(candidate: Candidate) -> tuple[Fact, ...]:
    """A plug-in's parser that fails on one item and quotes it."""
    if candidate.item_id == "bad":
        raise RecursionError(candidate.title)
    return (Fact(dimension="genre", value="noir"),)


def read(item_id: str) -> ItemFacts:
    return read_item(Candidate(item_id=item_id, title=f"Call {CIRCLED}"), DOMAIN, raising, DEFAULT).facts


def joined(taken: str | None, *others: str, shown: tuple[str, ...] = ("a", "bad", "b")) -> joining.Step:
    ranking = a_ranking("r1", shown)
    opened = joining.on_ranking(open_rankings(), ranking, lambda each: read(each.item_id), a_position(0, Ranking.TOPIC))
    selection = a_selection("r1", item_id=taken, others=others, none_taken=taken is None)
    return joining.on_selection(opened.state, selection, a_position(1, "selections"))


def test_an_item_that_a_parser_fails_on_is_unreadable_and_its_text_is_not_in_the_reason() -> None:
    found = read_item(Candidate(item_id="bad", title=CIRCLED), DOMAIN, raising, DEFAULT)

    assert found.facts == ItemFacts(item_id="bad", unreadable=True)
    assert dict(found.found) == {"unreadable": 1}
    assert found.failure.startswith("RecursionError in test_op_items.py:")
    assert CIRCLED not in found.failure


def test_an_item_that_the_filter_fails_on_is_unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Privacy, "refuses", lambda *_: int(CIRCLED))

    found = read_item(a_candidate("i", genres=["Noir"]), DOMAIN, BUILT_IN["generic"], DEFAULT)

    assert found.facts.unreadable


def test_an_unreadable_item_is_no_part_of_a_contrast() -> None:
    step = joined("a")

    assert step.contrast is not None
    assert (step.contrast.chosen.item_id, [item.item_id for item in step.contrast.unchosen]) == ("a", ["b"])
    assert b"unreadable" not in encode(step.contrast)


@pytest.mark.parametrize(("taken", "shown"), [("bad", ("a", "bad", "b")), (None, ("bad",))])
def test_a_choice_of_unreadable_items_only_ends_its_ranking_and_teaches_nothing(
    taken: str | None, shown: tuple[str, ...]
) -> None:
    step = joined(taken, shown=shown)

    assert (step.outcome, step.contrast, step.abstention) == (joining.Outcome.UNREADABLE, None, None)
    assert (step.state.rankings, step.refused) == ((), ())
