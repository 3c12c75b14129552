"""What keeps other pages out: headers, the names we answer to, and where a form may come from."""

import hmac
import ipaddress
from urllib.parse import urlsplit

from starlette.requests import Request

from streams.http.problems import Problem
from streams.settings import Settings

CSRF_FIELD, CSRF_HEADER = "csrf", "x-csrf-token"

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    # Within the console the browser tells where it comes from, which is one of the proofs below; others learn nothing.
    # With `no-referrer` a browser sends `Origin: null` with our own forms.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-Robots-Tag": "noindex",
}
"""On every answer of the console, static files included."""


class Hosts:
    """The names under which the console answers: a page elsewhere that points its own name here is refused.

    Args:
        settings: `console_hosts` names those beside the loopback; behind TLS an address will do too.
    """

    def __init__(self, settings: Settings) -> None:
        self._named = {name.strip().lower() for name in (settings.console_hosts or "").split(",") if name.strip()}
        self._is_tls = settings.http_certificate is not None

    def check(self, request: Request) -> str:
        """The name that the request is to.

        Raises:
            Problem: it is not one of ours.
        """
        name = host_of(request.headers.get("host", ""))
        if is_loopback(name) or name in self._named or (self._is_tls and _is_address(name)):
            return name
        raise Problem(421, "the console does not answer to this name: SAGER_CONSOLE_HOSTS lists those it does")


def host_of(netloc: str) -> str:
    """The name in a `Host`, without the port and in small letters.

    >>> host_of("LocalHost:8088"), host_of("[::1]:8088")
    ('localhost', '::1')
    """
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""


def is_loopback(name: str) -> bool:
    """Whether a name or an address is this machine's own, which no network is between."""
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def check_origin(request: Request) -> None:
    """Checks that a request which changes something comes from a page of ours.

    Browsers say where a form is from, in `Origin` always and in `Sec-Fetch-Site` where they trust the connection; what
    says neither is no browser with a form of ours.

    Raises:
        Problem: it comes from elsewhere.
    """
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    if site is not None and site != "same-origin":
        raise foreign()
    if origin is not None:
        try:
            parts = urlsplit(origin)
        except ValueError:
            raise foreign() from None
        if parts.scheme not in ("http", "https") or parts.netloc.lower() != request.headers.get("host", "").lower():
            raise foreign()
    elif site is None:
        raise foreign()


def check_csrf(presented: str, expected: str) -> None:
    """Checks what a form carries against its session.

    Raises:
        Problem: it does not carry it.
    """
    if not hmac.compare_digest(presented.encode(errors="surrogateescape"), expected.encode()):
        raise Problem(403, "this form is not from the session that you are in: load the page again, and send it again")


def foreign() -> Problem:
    """The answer to a form of another page."""
    return Problem(403, "this form does not come from a page of the console")
