"""The gate: who a request comes from, and whether it comes too often. For the API, and for metrics and health."""

from streams.http import metrics
from streams.http.exceptions import NotLetIn
from streams.http.limits import Buckets, network_of
from streams.http.tokens import Token, TokensFile, find
from streams.settings import Settings

SECONDS_A_MINUTE = 60.0


class Gate:
    """Lets in who has a good token and has not come too often. For any thread.

    Args:
        tokens: who has which.
        settings: how often they may come.
    """

    def __init__(self, tokens: TokensFile, settings: Settings) -> None:
        self._tokens = tokens
        self._requests = Buckets(settings.http_rate, settings.http_burst)
        self._failures = Buckets(settings.http_failures / SECONDS_A_MINUTE, max(1, int(settings.http_failures)))

    def enter(self, authorization: str | None, address: str) -> Token:
        """Whose token a request bears.

        Who has a good one is never kept out by the failures of others at the same address, such as behind a proxy:
        a token cannot be guessed, and what failures are limited for is the work that they make.

        Args:
            authorization: the header of that name.
            address: where the request comes from.

        Raises:
            NotLetIn: it bears none that is good, or comes too often.
            TokensUnusable: nobody can be let in.
        """
        known = self._tokens.all()
        reason, token = _whose(known, authorization)
        if token is None:
            metrics.AUTH_FAILURES.labels(reason).inc()
            self._or_too_often(self._failures, network_of(address), "address")
            raise NotLetIn(reason)
        self._or_too_often(self._requests, token.sha256, "token")
        return token

    def _or_too_often(self, buckets: Buckets, key: str, by: str) -> None:
        wait = buckets.take(key)
        if wait:
            metrics.RATE_LIMITED.labels(by).inc()
            raise NotLetIn("too-often", wait)


def _whose(known: tuple[Token, ...], authorization: str | None) -> tuple[str, Token | None]:
    if not authorization:
        return "missing", None
    kind, _, presented = authorization.partition(" ")
    if kind.lower() != "bearer":
        return "not-bearer", None
    token = find(known, presented.strip())
    return "" if token else "unknown", token


def gate_of(settings: Settings) -> Gate | None:
    """The gate that the settings ask for; None where no file of tokens is named.

    Raises:
        TokensUnusable: the file is not as it has to be.
    """
    if settings.http_tokens is None:
        return None
    tokens = TokensFile(settings.http_tokens)
    tokens.all()
    return Gate(tokens, settings)
