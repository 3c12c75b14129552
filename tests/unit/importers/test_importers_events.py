"""A data set as events."""

from datetime import UTC, datetime, timedelta

from schemas import Candidate
from streams.importers import Dataset, Visit
from streams.importers.dataset import catalogue, interactions

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


def test_every_visit_is_an_interaction_in_order():
    data = dataset()

    found = list(interactions(data))

    assert len(found) == data.visits
    for user_id, visits in data.histories.items():
        assert [e.item.item_id for e in found if e.user_id == user_id] == [visit.item_id for visit in visits]
