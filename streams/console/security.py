"""Protects pages: sessions, and checks of host names, origins and forms."""

import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from streams.http.limits import Gate, is_loopback
from streams.http.problems import Problem
from streams.http.tokens import Token, token_hash
from streams.settings import Settings

IDLE_SECONDS, LONGEST_SECONDS, CODE_SECONDS = 1_800.0, 43_200.0, 3_600.0
MOST_SESSIONS, MOST_CODES, SECRET_BYTES = 1_000, 16, 32
CSRF_FIELD, CSRF_HEADER = "csrf", "x-csrf-token"
FIELDS = 64


def check_host(request: Request, settings: Settings) -> None:
    """Refuse foreign host names; allowed: loopback and `console_hosts`."""
    # By DNS rebinding, a page of another site can reach this server under a name of its own.
    name = host_of(request.headers.get("host", ""))
    known = is_loopback(name) or name in {each.strip().lower() for each in (settings.console_hosts or "").split(",")}
    if not name or not known:
        raise Problem(421, "the console does not serve this host name: SAGER_CONSOLE_HOSTS lists the allowed ones")


def host_of(netloc: str) -> str:
    """Return the lower-case name in a `Host` header, without the port."""
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""


def check_origin(request: Request) -> None:
    """Refuse a form that comes from no page of the console."""
    # Browsers send `Origin` with every form, and `Sec-Fetch-Site` on secure connections.
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    host = request.headers.get("host", "").lower()
    foreign = site not in (None, "same-origin") or (site is None and origin is None)
    if foreign or (origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}")):
        raise Problem(403, "this form does not come from a page of the console")


def check_csrf(request: Request, form: dict[str, str], expected: str) -> None:
    """Refuse a form without its session's secret, and remove the field."""
    in_form = form.pop(CSRF_FIELD, "")
    presented = request.headers.get(CSRF_HEADER) or in_form
    if not hmac.compare_digest(presented.encode(errors="surrogateescape"), expected.encode()):
        raise Problem(403, "this form belongs to another session: load the page and send the form again")


async def form_of(request: Request) -> dict[str, str]:
    """Read the fields of a form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Problem(415, "this is not a form")
    return fields((await request.body()).decode("latin-1"))  # the application has bounded it


def fields(encoded: str) -> dict[str, str]:
    """Parse the fields of a form or an address; names are unique."""
    try:
        pairs = parse_qsl(encoded, keep_blank_values=True, errors="strict", max_num_fields=FIELDS)
    except ValueError:
        raise Problem(400, "the fields cannot be read") from None
    found = dict(pairs)
    if len(found) < len(pairs) or not encoded.isascii():
        raise Problem(400, "a field appears twice, or is not percent-encoded")
    return found


@dataclass
class BrowserSession:
    """A signed-in browser; its next page shows the `notices`."""

    # Holds no scopes: they come from the tokens file at each request, so that revoking a token ends its sessions.

    token_sha256: str
    csrf: str  # the secret in each of its forms
    began: float  # monotonic seconds
    used: float
    notices: list[tuple[str, str]] = field(default_factory=list)


class Sessions:
    """All sessions and one-time codes; a restart ends them."""

    # Without a lock: only the event loop uses it. Only hashes are kept: look-ups leak no timing, a memory dump opens no
    # session.

    def __init__(self, gate: Gate, clock: Callable[[], float] = time.monotonic) -> None:
        self._gate, self._clock = gate, clock
        self._sessions: dict[str, BrowserSession] = {}
        self._codes: dict[str, tuple[str, float]] = {}

    def begin(self, token: Token) -> str:
        """Begin a session and return its cookie."""
        secret, now = secrets.token_urlsafe(SECRET_BYTES), self._drop_expired()
        if len(self._sessions) >= MOST_SESSIONS:  # the least recently used one ends
            del self._sessions[min(self._sessions, key=lambda key: self._sessions[key].used)]
        self._sessions[token_hash(secret)] = BrowserSession(token.sha256, secrets.token_urlsafe(SECRET_BYTES), now, now)
        return secret

    def find(self, secret: str) -> tuple[BrowserSession, Token] | None:
        """Return a cookie's session and current token, if both are valid."""
        now = self._drop_expired()
        session = self._sessions.get(token_hash(secret))
        token = self._gate.token_by_hash(session.token_sha256) if session else None
        if session is None or token is None:
            self.end(secret)
            return None
        session.used = now
        return session, token

    def end(self, secret: str) -> None:
        """End the session of a cookie."""
        self._sessions.pop(token_hash(secret), None)

    def code(self, token_sha256: str) -> str:
        """Return a code that signs in once, within an hour."""
        code, now = secrets.token_urlsafe(SECRET_BYTES), self._drop_expired()
        while len(self._codes) >= MOST_CODES:
            del self._codes[next(iter(self._codes))]
        self._codes[token_hash(code)] = (token_sha256, now)
        return code

    def token_of(self, code: str, *, redeem: bool) -> Token | None:
        """Return the token of a valid code; `redeem` makes the code invalid."""
        self._drop_expired()
        found = self._codes.pop(token_hash(code), None) if redeem else self._codes.get(token_hash(code))
        return self._gate.token_by_hash(found[0]) if found else None

    def _drop_expired(self) -> float:
        now = self._clock()
        for key, each in list(self._sessions.items()):
            if now - each.used > IDLE_SECONDS or now - each.began > LONGEST_SECONDS:
                del self._sessions[key]
        self._codes = {key: found for key, found in self._codes.items() if now - found[1] <= CODE_SECONDS}
        return now
