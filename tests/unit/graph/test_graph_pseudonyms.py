"""Pseudonyms: whoever has a list of ids, but not the secret, finds nobody behind one."""

import hashlib
import hmac
import re
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from operators.graph.items import mark_of, neighbour_of, without_foreign
from schemas import ItemMemory, Taker, derived_id
from streams.pseudonyms import FILE, SecretUnusable, secret_of
from streams.settings import Settings
from tests.builders import a_time
from tests.fake_log import FakeDeployment, settings_in
from tests.unit.worker.test_worker_exactly_once import USERS, choices, put

SECRET = b"secret"


def guesses(user: str) -> Iterator[str]:
    for text in (user, f"user {user}", f"user:{user}", f"neighbour{user}", f"sager {user}"):
        raw = text.encode()
        yield from (hashlib.new(name, raw).hexdigest() for name in ("sha256", "md5", "sha1", "blake2b", "blake2s"))
        yield hashlib.blake2b(raw, digest_size=8).hexdigest()
        yield from (hmac.digest(key, raw, "sha256").hex() for key in (b"", b"sager", b"sager pseudonyms 1"))
    yield derived_id("neighbour", user)
    yield neighbour_of(user).split(".")[1]


@pytest.mark.asyncio
async def test_known_user_ids_match_no_pseudonym(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = FakeDeployment(settings_in(tmp_path, support_floor=1), monkeypatch)
    put(running.log, choices(12))
    await running.worker().quiet()
    told = b"".join(r.value or b"" for r in running.log.of("item-touches"))
    found = set(re.findall(r'"(user:[^"]+)"', told.decode()))
    assert found == {taker.neighbour for item in running.log.values(ItemMemory) for taker in item.takers}
    kept = b"".join(r.value or b"" for r in running.log.of("item-memories"))
    assert not any(f'"{user}"'.encode() in told + kept for user in USERS)
    assert len(found) == len(USERS)
    assert found == {neighbour_of(user, secret_of(running.settings)) for user in USERS}
    ends = {name[-length:] for name in found for length in (16, 24)}
    tried = {guess[:length] for user in USERS for guess in guesses(user) for length in (16, 24)}
    assert not ends & tried
    await running.close()


def test_secret_is_configured_derived_or_created_once(tmp_path: Path) -> None:
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

    keys = [secret_of(settings(chain_key="k" * 32)), secret_of(settings(chain_key="2" * 32))]
    own = secret_of(settings(chain_key="k" * 32, pseudonym_key="p" * 32))
    assert own == secret_of(settings(pseudonym_key="p" * 32))
    assert len({*made, *keys, own, b"k", b"p"}) == 6, "nothing is used for two things"


@pytest.mark.parametrize("left", [b"", b"\n", b"0123456789abcdef", b" " * 64])
def test_truncated_secret_is_rejected(tmp_path: Path, left: bytes) -> None:
    (tmp_path / FILE).write_bytes(left)

    with pytest.raises(SecretUnusable, match="put it back from a copy"):
        secret_of(Settings(data_dir=tmp_path))


def test_restored_secret_gets_strict_permissions(tmp_path: Path) -> None:
    secret = secret_of(Settings(data_dir=tmp_path))
    for mode in (0o644, 0o640, 0o660):
        (tmp_path / FILE).chmod(mode)
        assert secret_of(Settings(data_dir=tmp_path, chain_key="", pseudonym_key="")) == secret
        assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600


def test_new_secret_rotates_all_pseudonyms() -> None:
    takers = tuple(
        Taker(neighbour_of("ann", secret), number, a_time(), 1, 1) for number, secret in enumerate((SECRET, b"another"))
    )
    item = ItemMemory(domain="films", item_id="i1", takers=takers)
    rest = without_foreign(item, SECRET)
    assert rest is not None
    assert rest.takers == takers[:1]
    assert rest.epoch > item.epoch, "who has read it reads it again"
    assert without_foreign(rest, SECRET) is None
    assert mark_of(SECRET) != mark_of(b"another")
