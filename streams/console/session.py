"""Sessions in memory. A cookie names one; its scopes are looked up in the tokens file at every request."""

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from streams.http.limits import Gate
from streams.http.tokens import Token

COOKIE = "sager_console"
IDLE_SECONDS = 1_800.0
LONGEST_SECONDS = 43_200.0
CODE_SECONDS = 3_600.0
MOST_SESSIONS, MOST_CODES = 1_000, 16
SECRET_BYTES = 32


@dataclass
class Session:
    """A signed-in browser.

    Attributes:
        token_sha256: the hash of its token.
        csrf: the secret that each of its forms carries.
        began, used: monotonic seconds of its first and its last request.
        notices: outcomes that the next page shows, each with its kind: good, wait or bad.
    """

    token_sha256: str
    csrf: str
    began: float
    used: float
    notices: list[tuple[str, str]] = field(default_factory=list)


class Sessions:
    """All sessions and one-time codes; a restart ends them. Thread-safe."""

    def __init__(self, gate: Gate, clock: Callable[[], float] = time.monotonic) -> None:
        self._gate, self._clock = gate, clock
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._codes: dict[str, tuple[str, float]] = {}

    def begin(self, token: Token) -> str:
        """Begin a session and return its cookie. The least recently used one ends if there are too many."""
        secret, now = secrets.token_urlsafe(SECRET_BYTES), self._clock()
        with self._lock:
            self._drop_expired(now)
            if len(self._sessions) >= MOST_SESSIONS:
                del self._sessions[min(self._sessions, key=lambda key: self._sessions[key].used)]
            self._sessions[_hash(secret)] = Session(token.sha256, secrets.token_urlsafe(SECRET_BYTES), now, now)
        return secret

    def find(self, secret: str, *, used: bool = True) -> tuple[Session, Token] | None:
        """The session of a cookie and its current token; None if either has ended.

        A request that a page sends by itself is no use, and does not keep the session alive.
        """
        now = self._clock()
        with self._lock:
            self._drop_expired(now)
            session = self._sessions.get(_hash(secret))
        token = self._gate.current(session.token_sha256) if session else None
        if session is None or token is None:
            self.end(secret)
            return None
        if used:
            session.used = now
        return session, token

    def end(self, secret: str) -> None:
        """End the session of a cookie."""
        with self._lock:
            self._sessions.pop(_hash(secret), None)

    def code(self, token_sha256: str) -> str:
        """A code that begins one session with this token, once, within an hour."""
        code, now = secrets.token_urlsafe(SECRET_BYTES), self._clock()
        with self._lock:
            self._drop_expired(now)
            while len(self._codes) >= MOST_CODES:
                del self._codes[next(iter(self._codes))]
            self._codes[_hash(code)] = (token_sha256, now)
        return code

    def token_of(self, code: str, *, redeem: bool) -> Token | None:
        """The token of a code, None if the code is invalid; redeemed, the code is invalid from now on."""
        with self._lock:
            self._drop_expired(self._clock())
            found = self._codes.pop(_hash(code), None) if redeem else self._codes.get(_hash(code))
        return self._gate.current(found[0]) if found else None

    def _drop_expired(self, now: float) -> None:
        for key, each in list(self._sessions.items()):
            if now - each.used > IDLE_SECONDS or now - each.began > LONGEST_SECONDS:
                del self._sessions[key]
        for key, (_, since) in list(self._codes.items()):
            if now - since > CODE_SECONDS:
                del self._codes[key]


def _hash(secret: str) -> str:
    """Secrets are kept as hashes: the time of a look-up reveals nothing, and leaked memory opens no session."""
    return hashlib.sha256(secret.encode(errors="surrogateescape")).hexdigest()
