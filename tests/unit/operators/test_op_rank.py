"""The deterministic ranker (paper 2.4, C.3): a strict total order, and the repair of a model's one."""

import itertools

import pytest

from operators.rank import rank, repair
from schemas import Attribute, ItemFacts, Kind, Tier
from tests.builders import a_candidate, an_attribute, id_of, item_facts

NOIR, SAGA = item_facts("n", "genre: noir"), item_facts("s", "genre: saga")
PLAIN = item_facts("p", "genre: plain")


def order(candidates: list[ItemFacts], *attributes: Attribute, **more: object) -> list[str]:
    return [item.item_id for item, _ in rank(candidates, attributes, **more)]


class TestTotalOrder:
    def test_every_candidate_has_a_place_of_its_own(self) -> None:
        items = [item_facts(f"i{n}") for n in range(30)]

        assert sorted(order(items)) == sorted(item.item_id for item in items)

    def test_nothing_to_rank(self) -> None:
        assert rank([]) == []

    def test_same_seed_same_order(self) -> None:
        items = [item_facts(f"i{n}") for n in range(20)]

        assert order(items, seed="r1") == order(items, seed="r1")
        assert order(items, seed="r1") != order(items, seed="r2")

    def test_ties_favour_no_place_of_the_input(self) -> None:
        items = [item_facts(f"i{n}") for n in range(4)]

        firsts = [order(items, seed=f"r{n}")[0] for n in range(400)]

        assert all(60 <= firsts.count(item.item_id) <= 140 for item in items)

    @pytest.mark.parametrize("seed", ["", "r1", "r2"])
    def test_what_the_tiers_decide_no_seed_and_no_input_order_changes(self, seed: str) -> None:
        liked = an_attribute("genre: noir", Tier.HIGH)
        for items in itertools.permutations([PLAIN, NOIR, SAGA]):
            assert order(list(items), liked, seed=seed)[0] == "n"


class TestWhatCounts:
    def test_instruction_comes_first(self) -> None:
        liked = an_attribute("genre: noir", Tier.HIGH)
        facets = {id_of("genre: noir"): 100.0}

        assert order([NOIR, SAGA, PLAIN], liked, facets=facets, instruction="a family saga, please")[0] == "s"

    def test_a_strong_skill_outweighs_a_facet(self) -> None:
        liked = an_attribute("genre: noir", Tier.HIGH)

        assert order([NOIR, SAGA], liked, facets={id_of("genre: saga"): 0.9}) == ["n", "s"]

    def test_skill_breaks_the_tie_that_is_left(self) -> None:
        liked = an_attribute("genre: noir", Tier.MEDIUM)

        assert [order([NOIR, SAGA], liked, seed=str(n)) for n in range(20)] == [["n", "s"]] * 20

    def test_facets_that_are_equal_leave_the_tie_to_the_skill_whatever_the_order_of_facts(self) -> None:
        """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1: the last bit of a sum is no collaborative signal."""
        names = ["genre: a", "genre: b", "genre: c"]
        facets = {id_of(name): weight for name, weight in zip(names, (0.1, 0.2, 0.3), strict=True)}
        items = [item_facts("plain", *names), item_facts("liked", *reversed(names), "genre: noir")]

        for candidates in (items, items[::-1]):
            assert order(candidates, an_attribute("genre: noir"), facets=facets)[0] == "liked"

    def test_high_outweighs_medium_and_medium_low(self) -> None:
        high, medium, low = (an_attribute(f"genre: {t}", t) for t in (Tier.HIGH, Tier.MEDIUM, Tier.LOW))
        items = [item_facts(str(t), f"genre: {t}") for t in (Tier.LOW, Tier.MEDIUM, Tier.HIGH)]

        ranked = rank(items, [low, medium, high])

        assert [item.item_id for item, _ in ranked] == ["high", "medium", "low"]
        assert ranked[0][1].skill > ranked[1][1].skill > ranked[2][1].skill

    def test_patterns_are_about_behaviour_not_about_items(self) -> None:
        pattern = an_attribute("genre: noir", Tier.HIGH, kind=Kind.PATTERN, attribute_id=id_of("genre: noir"))

        assert rank([NOIR], [pattern])[0][1].skill == 0

    def test_fact_said_twice_counts_once(self) -> None:
        twice = item_facts("t", "genre: noir", "genre: Noir")
        liked = an_attribute("genre: noir", Tier.MEDIUM)

        scores: dict[str, float] = {item.item_id: score.skill for item, score in rank([NOIR, twice], [liked])}

        assert scores["n"] == scores["t"]


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

    def test_part_of_a_value_is_no_match(self) -> None:
        assert rank([item_facts("x", "genre: science fiction")], instruction="fiction")[0][1].instruction == 0

    def test_common_words_match_nothing(self) -> None:
        the_and = ItemFacts(item_id="x", title="The And")

        assert rank([the_and], instruction="the one and the other")[0][1].instruction == 0

    def test_title_counts_half_a_fact(self) -> None:
        titled = ItemFacts(item_id="t", title="Noir Nights")

        assert order([titled, NOIR, PLAIN], instruction="noir") == ["n", "t", "p"]

    def test_instruction_of_signs_alone_asks_for_nothing(self) -> None:
        assert rank([NOIR], instruction="?! ... --")[0][1].instruction == 0


class TestRepair:
    @pytest.mark.parametrize(
        ("said", "made", "unknown", "repeated", "missing"),
        [
            ("cab", "cab", 0, 0, 0),
            ("", "abc", 0, 0, 3),
            ("c", "cab", 0, 0, 2),
            ("xcy", "cab", 2, 0, 2),
            ("ccab", "cab", 0, 1, 0),
            ("xxcc", "cab", 2, 1, 2),
        ],
    )
    def test_order_is_made_a_permutation_and_each_repair_is_counted(
        self, said: str, made: str, unknown: int, repeated: int, missing: int
    ) -> None:
        repaired = repair(list(said), [a_candidate(name) for name in "abc"])

        assert "".join(repaired.order) == made
        assert (repaired.unknown, repaired.repeated, repaired.missing) == (unknown, repeated, missing)
