"""A data set as events."""

from datetime import UTC, datetime, timedelta

from schemas import Candidate
from streams.importers import Dataset, Visit
from streams.importers.events import catalogue, count, interactions, replay

START = datetime(2024, 1, 1, tzinfo=UTC)


def dataset(items=40, users=5, visits=6):
    catalogue_ = {f"i{n}": Candidate(item_id=f"i{n}", title=f"Item {n}") for n in range(items)}
    histories = {
        f"u{user}": [
            Visit(f"i{(user * visits + n) % items}", START + n * timedelta(hours=1)) for n in range(visits - user % 2)
        ]
        for user in range(users)
    }
    return Dataset("films", catalogue_, histories)


def test_the_same_data_gives_the_same_events():
    assert list(catalogue(dataset())) == list(catalogue(dataset()))
    assert list(interactions(dataset())) == list(interactions(dataset()))
    assert list(replay(dataset(), 0.5)) == list(replay(dataset(), 0.5))


def test_a_share_of_the_history_is_past_and_the_rest_is_replayed():
    data = dataset()

    past = list(interactions(data, 0.5))
    chosen = [selection for round_ in replay(data, 0.5) for _, selection in round_]

    assert len(past) == count(data, 0.5) == 5 * 3 - 2
    assert len(past) + len(chosen) == data.visits
    for user_id, visits in data.histories.items():
        told = [e.item.item_id for e in past if e.user_id == user_id] + [
            e.item_id for e in chosen if e.user_id == user_id
        ]
        assert told == [visit.item_id for visit in visits]


def test_a_round_has_at_most_one_choice_of_each_user():
    for round_ in replay(dataset(), 0.0):
        users = [ranking.user_id for ranking, _ in round_]
        assert len(users) == len(set(users))
