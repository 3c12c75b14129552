"""Invented people played through the worker's steps without a model: what must be found, and what must never be."""

import asyncio
import json

import pytest
from typer.testing import CliRunner

from evaluation.conversations.figures import Run, figures_of, stored
from evaluation.conversations.invented import person as invented
from evaluation.conversations.invented import write
from evaluation.conversations.layout import person
from evaluation.conversations.listening import play
from operators.cards.fold import fold
from schemas import encode
from streams.cli import app
from tests.unit.conversations.conversation_builders import element, forget, person_of, update

PEOPLE = 6
runner = CliRunner()


@pytest.fixture(scope="module")
def plays():
    persons = [person(f"person-{place}", invented(place)) for place in range(PEOPLE)]
    return [asyncio.run(play(who)) for who in persons]


def test_nothing_is_kept_that_must_not_be(plays):
    told = _sum(plays).shares()

    assert (told["sensitive_values"] >= 8 * PEOPLE, told["sensitive_kept"]) == (True, 0)
    assert (told["sensitive_topics"], told["sensitive_topics_kept"]) == (PEOPLE, 0)
    assert (told["others"], told["others_taken"]) == (3 * PEOPLE, 0)


def test_what_was_to_be_forgotten_is_nowhere(plays):
    told = _sum(plays).shares()

    assert told["forgotten_known_before"] >= PEOPLE, "they were known, else nothing is shown"
    assert told["forgotten_come_back"] == 0


def test_a_card_is_the_fold_of_its_log(plays):
    for each in plays:
        assert encode(fold(each.log)[each.person.user_id]) == encode(each.card)


def test_a_person_who_takes_things_back_is_left_with_what_stands():
    who = person_of(
        element("Likes rowing", "I love rowing."),
        element("Likes chess", "I love chess."),
        forget("Likes rowing", "Please forget that I love rowing."),
        update("Likes ludo", "Likes chess", "I don't like chess any more. I love ludo."),
    )

    each = asyncio.run(play(who))

    counts = figures_of(each).counts
    assert (counts["forgets"], counts["forgets_known"], counts["forgets_back"]) == (1, 1, 0)
    assert (counts["updates"], counts["updates_known"], counts["updates_honoured"]) == (1, 1, 1)
    assert "rowing" not in stored(each).casefold()


def test_a_person_with_hostile_turns_under_an_odd_name_is_played(tmp_path):
    hostile = [
        element("Likes tea", "I love tea\0\ud800 " + "x" * 50_000, who=["self"]),
        element("A" * 5_000, "I love " + "[" * 900, user_query="?"),
        element("\u200b", "\u200b"),
    ]
    path = tmp_path / f"an odd *persona\n{'l' * 200}.json"
    path.write_text(json.dumps({"conversations": {"chat": hostile}}))

    told = runner.invoke(app, ["eval", "conversations", "--data", str(tmp_path), "--json"])

    assert told.exit_code == 0, told.output
    assert json.loads(told.stdout.splitlines()[-1])["conversations"] == len(hostile)


def test_the_same_seed_writes_the_same_bytes(tmp_path):
    first, second, other = (tmp_path / name for name in ("first", "second", "other"))
    one, two, three = write(first, 3), write(second, 3), write(other, 3, seed=1)

    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]
    assert [path.read_bytes() for path in one] != [path.read_bytes() for path in three]


def _sum(plays):
    total = Run()
    for each in plays:
        total.add(each)
    return total
