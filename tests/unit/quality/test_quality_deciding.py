"""`benchmarks.deciding` on a small domain: rules are found, luck is not, and lines are worth their place."""

import json
import random

import pytest

from benchmarks.deciding import blind, found_rule, panel, saved
from evaluation.lists import logged_plan

PEOPLE, CHOICES = 30, 12


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    """Half of the people mind the price, half the time; the colour decides nothing."""
    chance, rows = random.Random(1), []
    for n in range(CHOICES):
        for person in range(PEOPLE):
            items = [
                {
                    "item_id": f"{person}-{n}-{place}",
                    "metadata": {
                        "price": chance.uniform(50, 150),
                        "minutes": chance.uniform(60, 180),
                        "colour": chance.choice(["red", "blue", "green"]),
                    },
                }
                for place in range(4)
            ]
            minds = "price" if person % 2 else "minutes"
            taken = min(range(4), key=lambda place: items[place]["metadata"][minds])
            rows.append({"user_id": f"u{person}", "n": n, "shown": items, "taken": taken})
    folder = tmp_path_factory.mktemp("panel")
    (folder / "choices.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return logged_plan(folder, domain="tickets")


def test_numbers_are_learned_by_the_product_and_not_by_the_former_rule(plan):
    found, _ = panel(plan, 0)

    assert found["hit_at_1"]["former"] < 0.4
    assert found["hit_at_1"]["sager"] > 0.7
    assert found["gain"]["population"]["ci95"][0] > 0


def test_people_who_choose_at_random_have_no_lines(plan):
    [found] = blind(plan, 0)

    assert found["blind"] <= 0.05
    assert found["real"] >= 0.8


def test_a_planted_rule_is_found_and_none_is_invented(plan):
    found = found_rule(plan, "price", 0)

    assert found["within_8"] >= 0.75
    assert found["other_lines"] <= 0.05


def test_medium_lines_save_misses(plan):
    [found] = saved(plan, 0)

    assert found["lines"] >= PEOPLE / 2
    assert found["alone"]["ci95"][0] > 0
    assert found["beyond_domain"]["ci95"][0] > 0
