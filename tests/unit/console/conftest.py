"""What the tests of the console share: a file of tokens, and browsers that are signed in."""

from collections.abc import Callable

import pytest

from tests.unit.console.console_world import Visitor
from tests.unit.http.http_world import Served, Tokens


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    return Tokens(tmp_path_factory.mktemp("tokens"))


@pytest.fixture(scope="module")
def signed_in(served: Served, file: Tokens) -> Callable[..., Visitor]:
    def sign_in(*scopes: str, user: str | None = None) -> Visitor:
        visitor = Visitor(served)
        assert visitor.sign_in(file.make(*scopes, user=user)).status == 303
        return visitor

    return sign_in
