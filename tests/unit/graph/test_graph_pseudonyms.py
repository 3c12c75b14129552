"""Pseudonyms: whoever has a list of ids, but not the secret, finds nobody behind one."""

import hashlib
import hmac
import re
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from operators.steps.retrieve import forget

from operators.propagate import forgotten_signal, forgotten_touch, hear, neighbour_of, without_foreign
from schemas import Crowd, ItemSignal, Neighbourhood, Taste, derived_id, encode
from streams.pseudonyms import FILE, SecretUnusable, secret_of
from streams.settings import Settings
from tests.builders import a_time
from tests.fake_log import FakeDeployment, settings_in
from tests.unit.worker.test_worker_exactly_once import USERS, choices, put

SECRET = b"secret"


def guesses(user: str) -> Iterator[str]:
    """What somebody without the secret can make of an id."""
    for text in (user, f"user {user}", f"user:{user}", f"neighbour{user}", f"sager {user}"):
        raw = text.encode()
        yield from (hashlib.new(name, raw).hexdigest() for name in ("sha256", "md5", "sha1", "blake2b", "blake2s"))
        yield hashlib.blake2b(raw, digest_size=8).hexdigest()
        yield from (hmac.digest(key, raw, "sha256").hex() for key in (b"", b"sager", b"sager pseudonyms 1"))
    yield derived_id("neighbour", user)
    yield neighbour_of(user).split(".")[1]


def signal(user: str, item: str, *names: str, epoch: int = 1) -> ItemSignal:
    crowd = tuple(Crowd(neighbour=name, degree=1, at=a_time()) for name in names)
    taste = Taste(attribute_id="preference:genre:noir", supporters=len(names), neighbours=names)
    return ItemSignal(
        user_id=user, domain="films", item_id=item, epoch=epoch, takers=len(names), crowd=crowd, tastes=(taste,)
    )


def of_old(user: str) -> str:
    """As releases before this one made it."""
    return f"user:{derived_id('neighbour', user)}"


@pytest.mark.asyncio
async def test_a_list_of_ids_finds_nobody_in_what_a_worker_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = FakeDeployment(settings_in(tmp_path, support_floor=1), monkeypatch)
    put(running.log, choices(12))
    await running.worker().quiet()
    told = b"".join(
        r.value or b"" for base in ("item-signals", "neighbourhoods") for r in running.log.of(base)
    ).decode()
    found = set(re.findall(r'"(user:[^"]+)"', told))
    assert len(found) == len(USERS)
    assert found == {neighbour_of(user, secret_of(running.settings)) for user in USERS}
    ends = {name[-length:] for name in found for length in (16, 24)}
    tried = {guess[:length] for user in USERS for guess in guesses(user) for length in (16, 24)}
    assert not ends & tried
    await running.close()


def test_a_secret_is_set_or_derived_or_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    def settings(**more: str) -> Settings:
        return Settings(data_dir=tmp_path / "data", **more)

    with ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: secret_of(settings()), range(16)))
    assert len(made) == 1, "workers that start at once have one"
    assert made == {secret_of(settings())}
    file = tmp_path / "data" / FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert [path.name for path in file.parent.iterdir()] == [FILE]
    assert secret_of(Settings(data_dir=tmp_path / "other")) not in made

    keys = [secret_of(settings(chain_key="k")), secret_of(settings(chain_key="k2"))]
    own = secret_of(settings(chain_key="k", pseudonym_key="p"))
    assert own == secret_of(settings(pseudonym_key="p"))
    assert len({*made, *keys, own, b"k", b"p"}) == 6, "nothing is used for two things"


@pytest.mark.parametrize("left", [b"", b"\n", b"0123456789abcdef", b" " * 64])
def test_a_secret_that_is_cut_short_keys_nothing(tmp_path: Path, left: bytes) -> None:
    (tmp_path / FILE).write_bytes(left)

    with pytest.raises(SecretUnusable, match="put it back from a copy"):
        secret_of(Settings(data_dir=tmp_path))


def test_a_secret_that_was_put_back_open_to_others_is_closed_and_an_empty_one_is_none(tmp_path: Path) -> None:
    secret = secret_of(Settings(data_dir=tmp_path))
    for mode in (0o644, 0o640, 0o660):
        (tmp_path / FILE).chmod(mode)
        assert secret_of(Settings(data_dir=tmp_path, chain_key="", pseudonym_key="")) == secret
        assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_what_older_releases_told_is_heard_no_more_and_goes_with_the_next_signal() -> None:
    old = Neighbourhood.model_validate_json(
        encode(Neighbourhood(user_id="kim", domain="films", signals=(signal("kim", "i1", of_old("ann")),)))
    )
    assert hear(old, signal("kim", "i2", of_old("bob"))) is None
    heard = hear(old, signal("kim", "i2", neighbour_of("bob", SECRET)))
    assert heard is not None
    assert [each.item_id for each in heard.signals] == ["i2"]
    assert heard.epoch > old.epoch


@pytest.mark.parametrize("known_as", [of_old("ann"), neighbour_of("ann", b"another"), neighbour_of("ann", SECRET)])
def test_whoever_is_forgotten_is_forgotten_under_every_pseudonym(known_as: str) -> None:
    stays, goes = signal("kim", "i1", neighbour_of("bob", SECRET)), signal("kim", "i2", known_as)
    near = Neighbourhood(user_id="kim", domain="films", signals=(stays, goes))
    rest = forget(near, forgotten_signal(forgotten_touch("ann", None, a_time())), SECRET)
    assert rest is not None
    assert rest.signals == (stays,)
    assert forget(rest, forgotten_signal(forgotten_touch("ann", None, a_time())), SECRET) is None


def test_another_secret_rotates_all_pseudonyms() -> None:
    mine, other = signal("kim", "i1", neighbour_of("ann", SECRET)), signal("kim", "i2", neighbour_of("ann", b"another"))
    near = Neighbourhood(user_id="kim", domain="films", signals=(mine, other))
    rest = without_foreign(near, SECRET)
    assert rest is not None
    assert rest.signals == (mine,)
    assert without_foreign(rest, SECRET) is None
