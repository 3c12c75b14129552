"""Sessions: who is signed in. A cookie names one; what it may is asked of the tokens file at every request."""

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from streams.http.gate import Gate
from streams.http.tokens import Token

COOKIE = "sager_console"
IDLE_SECONDS = 1_800.0
"""How long a session lasts of which nothing is heard."""
LONGEST_SECONDS = 43_200.0
"""How long any session lasts: half a day."""
CODE_SECONDS = 3_600.0
"""How long a one-time code is good for."""
MOST_SESSIONS, MOST_CODES = 1_000, 16
SECRET_BYTES = 32


@dataclass
class Session:
    """Somebody signed in.

    Attributes:
        token_sha256: the hash of the token that it was begun with.
        csrf: what each of its forms must carry.
        began: when, on the monotonic clock.
        heard: when it was last used.
        said: what the next page tells, such as what a change did, with its kind.
    """

    token_sha256: str
    csrf: str
    began: float
    heard: float
    said: list[tuple[str, str]] = field(default_factory=list)


class Sessions:
    """All sessions, in memory: a restart ends them. Thread-safe.

    Args:
        gate: knows the tokens.
        clock: monotonic seconds.
    """

    def __init__(self, gate: Gate, clock: Callable[[], float] = time.monotonic) -> None:
        self._gate, self._clock = gate, clock
        self._lock = threading.Lock()
        self._sessions: dict[str, Session] = {}
        self._codes: dict[str, tuple[str, float]] = {}

    def begin(self, token: Token) -> str:
        """Begins a session with this token, and gives what goes into its cookie.

        The oldest one ends where there are too many.
        """
        secret, now = secrets.token_urlsafe(SECRET_BYTES), self._clock()
        with self._lock:
            self._tidy(now)
            if len(self._sessions) >= MOST_SESSIONS:
                del self._sessions[min(self._sessions, key=lambda each: self._sessions[each].heard)]
            self._sessions[_hash(secret)] = Session(token.sha256, secrets.token_urlsafe(SECRET_BYTES), now, now)
        return secret

    def find(self, secret: str, *, used: bool = True) -> tuple[Session, Token] | None:
        """The session of a cookie and its token as the tokens file has it now; None if either is there no more.

        Args:
            secret: the cookie's value.
            used: whether this keeps it alive; what a page asks by itself does not.

        Raises:
            TokensUnusable: the tokens file cannot be used.
        """
        now = self._clock()
        with self._lock:
            self._tidy(now)
            session = self._sessions.get(_hash(secret))
        if session is None:
            return None
        token = self._gate.current(session.token_sha256)
        if token is None:
            self.end(secret)
            return None
        if used:
            session.heard = now
        return session, token

    def end(self, secret: str) -> None:
        """Ends the session of a cookie."""
        with self._lock:
            self._sessions.pop(_hash(secret), None)

    def code(self, token_sha256: str) -> str:
        """A code that begins one session with the token of this hash, once, for an hour."""
        code, now = secrets.token_urlsafe(SECRET_BYTES), self._clock()
        with self._lock:
            self._tidy(now)
            while len(self._codes) >= MOST_CODES:
                del self._codes[next(iter(self._codes))]
            self._codes[_hash(code)] = (token_sha256, now)
        return code

    def peek(self, code: str) -> Token | None:
        """The token of a code, without redeeming the code; None if the code is invalid.

        Raises:
            TokensUnusable: the tokens file cannot be used.
        """
        with self._lock:
            self._tidy(self._clock())
            found = self._codes.get(_hash(code))
        return self._gate.current(found[0]) if found else None

    def redeem(self, code: str) -> Token | None:
        """The token of a code, which is good no more; None if it was not good.

        Raises:
            TokensUnusable: the tokens file cannot be used.
        """
        with self._lock:
            self._tidy(self._clock())
            found = self._codes.pop(_hash(code), None)
        return self._gate.current(found[0]) if found else None

    def _tidy(self, now: float) -> None:
        over = [
            key
            for key, each in self._sessions.items()
            if now - each.heard > IDLE_SECONDS or now - each.began > LONGEST_SECONDS
        ]
        for key in over:
            del self._sessions[key]
        for key in [key for key, (_, since) in self._codes.items() if now - since > CODE_SECONDS]:
            del self._codes[key]


def _hash(secret: str) -> str:
    """Secrets are kept as hashes: a look-up by hash tells nothing by its time, and memory that leaks opens nothing."""
    return hashlib.sha256(secret.encode(errors="surrogateescape")).hexdigest()
