"""Invented people: enough of them, the same from the same seed, and as tricky as they are meant to be."""

from collections import Counter

import pytest

from evaluation.conversations.invented import write
from evaluation.conversations.layout import About, read


@pytest.fixture(scope="module", params=[False, True], ids=["tuned", "held-out"])
def people(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("invented")
    write(folder, held_out=request.param)
    return list(read(folder))


def test_all_that_is_to_be_told_apart_is_in_each_of_them(people):
    for who in people:
        abouts = Counter(talk.about for talk in who.talks)
        assert not who.skipped
        assert abouts[About.FORGET] == 2
        assert abouts[About.SENSITIVE] == 3
        assert abouts[About.NOTHING] == 6
        assert sum(talk.of_others for talk in who.talks) == 3
        assert sum(talk.before is not None and talk.about is About.PREFERENCE for talk in who.talks) == 3
        assert len(who.sensitive) == 8


def test_the_same_seed_writes_the_same_bytes(tmp_path):
    first, second, other = (tmp_path / name for name in ("first", "second", "other"))
    one, two, three = write(first, 3), write(second, 3), write(other, 3, seed=1)

    assert [path.read_bytes() for path in one] == [path.read_bytes() for path in two]
    assert [path.read_bytes() for path in one] != [path.read_bytes() for path in three]
