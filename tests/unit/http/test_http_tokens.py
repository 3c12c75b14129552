"""Tokens: known by their hash alone, found in constant time, and good for what their lines say."""

import hmac
import tomllib
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from typer.testing import CliRunner

from streams.cli import app
from streams.http import tokens
from streams.http.limits import Buckets, Limiter, RateLimited, network_of
from streams.http.problems import Problem
from streams.http.tokens import Scope, Token, TokensFile, TokensUnusable, find_token, new_token, token_toml
from tests.unit.http.http_world import Tokens

NOW = datetime(2026, 1, 1, tzinfo=UTC)
names = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=60)


@given(names, st.frozensets(st.sampled_from(list(Scope)), min_size=1), names)
def test_a_token_survives_a_round_trip_through_toml(name, scopes, user):
    about = user if scopes & tokens.USER_SCOPES else None
    secret, known = new_token(name, scopes, about, NOW)

    [said] = tomllib.loads(token_toml(known))["token"]

    assert Token.model_validate(said) == known
    assert secret not in token_toml(known)


def test_a_token_is_found_by_its_exact_secret_until_it_expires():
    secret, known = new_token("console", ["read-all"], None, NOW)
    other, another = new_token("console", ["read-all"], None, None)

    assert find_token((known, another), secret, NOW - timedelta(seconds=1)) == known
    assert find_token((known, another), secret, NOW) is None
    assert find_token((known, another), other, NOW) == another
    for wrong in ("", secret[:-1], secret + "x", secret.upper(), known.sha256, f" {secret}", "sager_\udcff"):
        assert find_token((known, another), wrong, NOW - timedelta(days=1)) is None


def test_all_entries_are_compared_in_constant_time(monkeypatch):
    made = [new_token(f"token-{n}", ["read-all"], None, None) for n in range(5)]
    compared = []

    def compare(one, other):
        compared.append((one, other))
        return hmac_compare(one, other)

    hmac_compare = hmac.compare_digest
    monkeypatch.setattr("streams.http.tokens.hmac.compare_digest", compare)
    for secret in (made[0][0], made[4][0], "sager_nothing"):
        compared.clear()
        find_token(tuple(known for _, known in made), secret)
        assert compared == [(known.sha256, tokens.token_hash(secret)) for _, known in made]


def test_a_weak_token_is_refused_even_with_an_entry():
    weak = Token(name="console", sha256=tokens.token_hash("password"), scopes={Scope.READ_ALL})

    assert find_token((weak,), "password") is None


def test_user_scopes_need_a_user_and_other_scopes_take_none():
    ann = new_token("ann", ["read-user", "change-user"], "ann", None)[1]
    shop = new_token("shop", ["read-user"], "*", None)[1]
    console = new_token("console", ["read-all", "operate"], None, None)[1]

    change = Scope.CHANGE_USER
    assert [ann.can_read("ann"), ann.allows(change, "ann"), ann.can_read("bob"), ann.allows(change, "bob")] == [
        1,
        1,
        0,
        0,
    ]
    assert [shop.can_read("bob"), shop.allows(change, "bob")] == [True, False]
    assert [console.can_read("bob"), console.allows(change, "bob")] == [True, False]
    for scopes, user in ((["read-user"], None), (["change-user", "read-all"], None), (["read-all"], "ann"), ([], None)):
        with pytest.raises(ValidationError):
            new_token("x", scopes, user, None)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[token]\n", "not valid TOML"),
        ("[[token]]\nname = 'x'\n", "sha256: Field required"),
        (f"[[token]]\nname = 'x'\nsha256 = '{'0' * 64}'\nscopes = ['everything']\n", "scopes"),
        (f"[[token]]\nname = 'x'\nsha256 = '{'0' * 64}'\nscopes = ['read-user']\n", "need a user"),
        (2 * f"[[token]]\nname = 'x'\nsha256 = '{'0' * 64}'\nscopes = ['operate']\n", "twice"),
        (f"[[token]]\nname = 'x'\nsha256 = '{'0' * 64}'\nscopes = ['operate']\nscope = 1\n", "scope: Extra"),
    ],
)
def test_an_invalid_tokens_file_rejects_known_tokens(tmp_path, text, told):
    file = Tokens(tmp_path)
    file.make("read-all")
    known = TokensFile(file.path)
    assert len(known.all()) == 1

    file.write(text)

    for _ in range(2):
        with pytest.raises(TokensUnusable, match=told):
            known.all()
    file.write()
    assert len(known.all()) == 1


@pytest.mark.parametrize(("mode", "refused"), [(0o600, False), (0o640, False), (0o644, True), (0o660, True)])
def test_a_tokens_file_that_others_can_access_is_refused(tmp_path, mode, refused):
    file = Tokens(tmp_path)
    file.write(mode=mode)

    if refused:
        with pytest.raises(TokensUnusable, match="chmod 640"):
            TokensFile(file.path).all()
    else:
        assert TokensFile(file.path).all() == ()


def test_the_command_prints_the_lines_on_stdout_and_the_token_on_stderr(tmp_path):
    made = CliRunner().invoke(
        app, ["token", "new", "--name", "ann-app", "--scope", "read-user", "--user", "ann", "--days", "90"]
    )
    [said] = tomllib.loads(made.stdout)["token"]
    secret = made.stderr.split()[-1]

    assert made.exit_code == 0
    assert find_token((Token.model_validate(said),), secret) is not None
    assert secret not in made.stdout
    assert timedelta(days=89) < said["expires"] - datetime.now(UTC) <= timedelta(days=90)


class Clock:
    """A monotonic clock that a test moves."""

    now = 0.0

    def __call__(self):
        return self.now


@given(st.floats(0.1, 100), st.integers(1, 50), st.lists(st.floats(0, 5), max_size=100))
def test_no_interval_passes_more_requests_than_burst_and_rate_allow(rate, burst, pauses):
    clock = Clock()
    buckets = Buckets(rate, burst, clock=clock)
    passed = []
    for pause in pauses:
        clock.now += pause
        if not buckets.take("a"):
            passed.append(clock.now)

    for first, begin in enumerate(passed):
        for last, end in enumerate(passed[first:], first):
            assert last - first + 1 <= burst + rate * (end - begin) + 1e-6


@given(st.floats(0.1, 100), st.integers(1, 50))
def test_a_client_that_waits_as_requested_passes(rate, burst):
    clock = Clock()
    buckets = Buckets(rate, burst, clock=clock)
    for _ in range(60):
        if wait := buckets.take("a"):
            clock.now += wait + 1e-6
            assert not buckets.take("a")
    assert not buckets.take("b"), "each key has a bucket of its own"


def test_buckets_are_bounded():
    buckets = Buckets(1, 1, most=3)
    for n in range(100):
        buckets.take(str(n))
    assert len(buckets._used) == 3


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("fe80::1%eth0", "fe80::2%eth1", True),
    ],
)
def test_clients_are_counted_by_network(one, other, same):
    assert (network_of(one) == network_of(other)) is same


def held(clients, places=16):
    limiter, got, errors = Limiter(places), {}, []
    with ExitStack() as held:
        for client in clients:
            try:
                held.enter_context(limiter.hold(client))
                got[client] = got.get(client, 0) + 1
            except Problem as error:
                errors.append(type(error))
    assert (limiter._free, limiter._used) == (places, {}), "all places are free again"
    return got, errors


def test_one_client_gets_half_of_the_slots():
    assert held(["backend"] * 40) == ({"backend": 8}, [RateLimited] * 32)
    assert held([f"token {n}" for n in range(17)])[1] == [Problem]


@given(st.lists(st.integers(0, 3), max_size=60))
def test_a_new_client_finds_a_slot_after_greedy_ones(wishes):
    assert held([*(f"token {n}" for n in wishes), "new token"])[0]["new token"] == 1
