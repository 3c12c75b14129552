"""The second step of what cannot be taken back: the same request again, with the confirmation of its preview.

A confirmation is a message authentication code over the token, the request and its moment, so that nothing is kept for
it. The ids of what it sends are derived from it: confirmed twice, a request is carried out once.
"""

import hmac
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from operators.seals import derived_key
from schemas import derived_id
from streams.http.problems import Problem
from streams.http.tokens import Token
from streams.lru import LruCache
from streams.settings import Settings

SECONDS = 600
"""How long a confirmation holds."""
_MOMENT_BYTES, _CHANCE_BYTES, _CODE_BYTES = 8, 8, 32
_KEY_BYTES = 32
REMEMBERED = 1_000
"""Answers that are kept for those who confirm twice."""


@dataclass(frozen=True)
class Confirmation:
    """What confirms a request.

    Attributes:
        text: is sent with the same request again.
        expires_at: until when, in UTC.
    """

    text: str
    expires_at: datetime

    @property
    def told(self) -> dict[str, str]:
        """Its members of an answer."""
        return {"confirmation": self.text, "expires_at": self.expires_at.isoformat().replace("+00:00", "Z")}


@dataclass(frozen=True)
class Confirmed:
    """A confirmed request.

    Attributes:
        text: the confirmation.
        at: when the preview was asked for, in UTC: the time of all that is sent for it.
    """

    text: str
    at: datetime

    def name(self, part: str = "") -> str:
        """The id of an event that is sent for it; the same each time."""
        return derived_id(self.text, part)


class Confirmations:
    """Makes and checks confirmations.

    Args:
        settings: with the secret that servers behind one address share; without one it is this process's own.
        clock: seconds since 1970.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        given = settings.http_confirmation_key
        secret = secrets.token_bytes(_KEY_BYTES) if given is None else given.get_secret_value().encode()
        self._key = derived_key(secret, "confirmation")
        self._clock = clock
        self._answers = LruCache[str, Any](REMEMBERED)

    def make(self, token: Token, what: str, about: bytes) -> Confirmation:
        """A confirmation.

        Args:
            token: whose request it is.
            what: what is done, such as `forget ann`.
            about: the rest of the request, in one form only: see `canonical`.
        """
        now = self._clock()
        begin = int(now * 1000).to_bytes(_MOMENT_BYTES, "big") + secrets.token_bytes(_CHANCE_BYTES)
        text = urlsafe_b64encode(begin + self._code(begin, token, what, about)).decode()
        return Confirmation(text, datetime.fromtimestamp(int(now) + SECONDS, UTC))

    def check(self, text: str, token: Token, what: str, about: bytes) -> Confirmed:
        """The confirmed request.

        Raises:
            Problem: it is not this request's, or its time is over.
        """
        try:
            raw = urlsafe_b64decode(text.encode("ascii"))
        except (NotBase64, ValueError):
            raise _refused() from None
        begin, code = raw[: _MOMENT_BYTES + _CHANCE_BYTES], raw[_MOMENT_BYTES + _CHANCE_BYTES :]
        if len(code) != _CODE_BYTES or not hmac.compare_digest(code, self._code(begin, token, what, about)):
            raise _refused()
        at = int.from_bytes(begin[:_MOMENT_BYTES], "big") / 1000
        if not 0 <= self._clock() - at <= SECONDS:
            raise _refused()
        # Of several spellings of the same bytes, one names the events.
        return Confirmed(urlsafe_b64encode(raw).decode(), datetime.fromtimestamp(at, UTC))

    def answer_of(self, confirmed: Confirmed) -> Any:
        """What was answered when this was carried out before, by this process; None if it was not."""
        return self._answers.get(confirmed.text)

    def remember(self, confirmed: Confirmed, answer: Any) -> None:
        """Keeps an answer that says nothing of a person."""
        self._answers.put(confirmed.text, answer)

    def _code(self, begin: bytes, token: Token, what: str, about: bytes) -> bytes:
        made = hmac.new(self._key, digestmod="sha256")
        for part in (begin, token.sha256.encode(), what.encode(), about):
            made.update(len(part).to_bytes(8, "big") + part)
        return made.digest()


def canonical(about: Any) -> bytes:
    """A request in one form, whatever the order of its fields."""
    return orjson.dumps(about, option=orjson.OPT_SORT_KEYS)


def _refused() -> Problem:
    return Problem(
        409,
        "the confirmation is over, or is of another request: ask without one, look at the preview, and send its own",
    )
