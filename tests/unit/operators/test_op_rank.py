"""The deterministic ranker (paper 2.4, C.3): a strict total order, and the repair of a model's one."""

import pytest

from operators.rank import rank
from schemas import Attribute, ItemFacts, Tier
from tests.builders import an_attribute, id_of, item_facts

NOIR, SAGA = item_facts("n", "genre: noir"), item_facts("s", "genre: saga")
PLAIN = item_facts("p", "genre: plain")


def order(candidates: list[ItemFacts], *attributes: Attribute, **more: object) -> list[str]:
    return [item.item_id for item, _ in rank(candidates, attributes, **more)]


class TestTotalOrder:
    def test_ties_favour_no_place_of_the_input(self) -> None:
        items = [item_facts(f"i{n}") for n in range(4)]

        firsts = [order(items, seed=f"r{n}")[0] for n in range(400)]

        assert all(60 <= firsts.count(item.item_id) <= 140 for item in items)


class TestWhatCounts:
    def test_instruction_comes_first(self) -> None:
        liked = an_attribute("genre: noir", Tier.HIGH)
        facets = {id_of("genre: noir"): 100.0}

        assert order([NOIR, SAGA, PLAIN], liked, facets=facets, instruction="a family saga, please")[0] == "s"

    def test_facets_that_are_equal_leave_the_tie_to_the_skill_whatever_the_order_of_facts(self) -> None:
        """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1: the last bit of a sum is no collaborative signal."""
        names = ["genre: a", "genre: b", "genre: c"]
        facets = {id_of(name): weight for name, weight in zip(names, (0.1, 0.2, 0.3), strict=True)}
        items = [item_facts("plain", *names), item_facts("liked", *reversed(names), "genre: noir")]

        for candidates in (items, items[::-1]):
            assert order(candidates, an_attribute("genre: noir"), facets=facets)[0] == "liked"


class TestInstruction:
    @pytest.mark.parametrize(
        ("instruction", "fact"),
        [
            ("Something NOIR please", "genre: noir"),
            ("I want science fiction", "genre: Science-Fiction"),
            ("a $$ place", "price: $$"),
            ("हिन्दी में", "language: हिन्दी"),
            ("some R&B", "genre: r&b"),
        ],
    )
    def test_words_of_the_instruction_are_matched_with_facts(self, instruction: str, fact: str) -> None:
        assert order([PLAIN, item_facts("x", fact)], instruction=instruction) == ["x", "p"]
