"""The second step of what cannot be undone: the same request again, with the confirmation of its preview.

A confirmation is a message authentication code over the token, the request and its time, so the server stores nothing
for it. It determines the ids of what it sends: confirmed twice, a request is carried out once.
"""

import hmac
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
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
_MOMENT_BYTES, _HEAD_BYTES = 8, 16
REMEMBERED = 1_000
"""Answers that are kept for clients that confirm twice."""


@dataclass(frozen=True)
class Confirmed:
    """A confirmed request: its confirmation, and the time of its preview, which all that it sends carries."""

    text: str
    at: datetime

    def name(self, part: str = "") -> str:
        """Return the id of an event that the request sends; the same each time."""
        return derived_id(self.text, part)


class Confirmations:
    """Makes and checks confirmations.

    Args:
        settings: with the secret that servers behind one address share; without one each process has its own.
        clock: seconds since 1970.
    """

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.time) -> None:
        given = settings.http_confirmation_key
        secret = secrets.token_bytes(32) if given is None else given.get_secret_value().encode()
        self._key = derived_key(secret, "confirmation")
        self._clock = clock
        self._answers = LruCache[str, Any](REMEMBERED)

    def make(self, token: Token, what: str, about: Any) -> dict[str, str]:
        """Return a confirmation of an action, such as `forget ann`, as members of an answer; `about` is the request."""
        now = self._clock()
        head = int(now * 1000).to_bytes(_MOMENT_BYTES, "big") + secrets.token_bytes(_HEAD_BYTES - _MOMENT_BYTES)
        text = urlsafe_b64encode(head + self._code(head, token, what, about)).decode()
        expires_at = datetime.fromtimestamp(int(now) + SECONDS, UTC).isoformat().replace("+00:00", "Z")
        return {"confirmation": text, "expires_at": expires_at}

    def check(self, text: str, token: Token, what: str, about: Any) -> Confirmed:
        """Return the confirmed request."""
        try:
            raw = urlsafe_b64decode(text.encode("ascii"))
        except ValueError:
            raw = b""
        head, code = raw[:_HEAD_BYTES], raw[_HEAD_BYTES:]
        at = int.from_bytes(head[:_MOMENT_BYTES], "big") / 1000
        is_ours = hmac.compare_digest(code, self._code(head, token, what, about))
        if not is_ours or not 0 <= self._clock() - at <= SECONDS:
            detail = "the confirmation is over, or is of another request: ask without one, and send that of the preview"
            raise Problem(409, detail)
        # Of several spellings of the same bytes, one names the events.
        return Confirmed(urlsafe_b64encode(raw).decode(), datetime.fromtimestamp(at, UTC))

    def answer_of(self, confirmed: Confirmed) -> Any:
        """Return this process's answer when it carried the request out before, if it did."""
        return self._answers.get(confirmed.text)

    def remember(self, confirmed: Confirmed, answer: Any) -> None:
        """Keep an answer, which must say nothing about a person."""
        self._answers.put(confirmed.text, answer)

    def _code(self, head: bytes, token: Token, what: str, about: Any) -> bytes:
        code = hmac.new(self._key, digestmod="sha256")
        for part in (head, token.sha256.encode(), what.encode(), orjson.dumps(about, option=orjson.OPT_SORT_KEYS)):
            code.update(len(part).to_bytes(8, "big") + part)
        return code.digest()
