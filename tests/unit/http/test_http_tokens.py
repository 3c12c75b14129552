"""Tokens: known by their hash alone, found in constant time, and good for what their lines say."""

import hmac
import tomllib
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from typer.testing import CliRunner

from streams.cli import app
from streams.http import tokens
from streams.http.tokens import Scope, Token, TokensFile, TokensUnusable, find_token, new_token, token_toml
from tests.unit.http.http_world import Tokens

NOW = datetime(2026, 1, 1, tzinfo=UTC)
names = st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), min_size=1, max_size=60)


@given(names, st.frozensets(st.sampled_from(list(Scope)), min_size=1), names)
def test_what_is_printed_for_the_file_is_what_the_file_says(name, scopes, user):
    about = user if scopes & tokens.USER_SCOPES else None
    secret, known = new_token(name, scopes, about, NOW)

    [said] = tomllib.loads(token_toml(known))["token"]

    assert Token.model_validate(said) == known
    assert secret not in token_toml(known)


def test_a_token_is_found_by_itself_alone_and_until_it_expires():
    secret, known = new_token("console", ["read-all"], None, NOW)
    other, another = new_token("console", ["read-all"], None, None)

    assert find_token((known, another), secret, NOW - timedelta(seconds=1)) == known
    assert find_token((known, another), secret, NOW) is None
    assert find_token((known, another), other, NOW) == another
    for wrong in ("", secret[:-1], secret + "x", secret.upper(), known.sha256, f" {secret}", "sager_\udcff"):
        assert find_token((known, another), wrong, NOW - timedelta(days=1)) is None


def test_every_entry_is_compared_in_constant_time_wherever_the_right_one_stands(monkeypatch):
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


def test_a_weak_token_is_good_for_nothing_even_if_its_hash_is_in_the_file():
    weak = Token(name="console", sha256=tokens.token_hash("password"), scopes={Scope.READ_ALL})

    assert find_token((weak,), "password") is None


def test_scopes_of_a_user_are_about_that_user_and_all_others_about_nobody():
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
def test_a_file_that_is_wrong_lets_nobody_in_that_it_let_in_before(tmp_path, text, told):
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
def test_a_file_that_others_can_read_or_write_is_refused(tmp_path, mode, refused):
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
