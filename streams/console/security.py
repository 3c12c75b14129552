"""Protects pages from other sites by headers, host names, origins and secrets."""

import hmac
import ipaddress
from contextlib import suppress
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from streams.http.limits import is_loopback
from streams.http.problems import Problem
from streams.settings import Settings

CSRF_FIELD, CSRF_HEADER = "csrf", "x-csrf-token"
FORM_BYTES, FIELDS = 16 * 1024, 64  # a sentence takes a few hundred bytes
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
# On all responses of the console, static files included.
HEADERS = {
    "Content-Security-Policy": POLICY,
    # `no-referrer` would make browsers send `Origin: null` with the console's own forms.
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "X-Robots-Tag": "noindex",
}


def check_host(request: Request, settings: Settings) -> None:
    """Refuse foreign host names; allowed: loopback, `console_hosts`, and IP addresses with TLS."""
    # By DNS rebinding, a page of another site can reach this server under a name of its own.
    name = host_of(request.headers.get("host", ""))
    known = is_loopback(name) or name in {each.strip().lower() for each in (settings.console_hosts or "").split(",")}
    if settings.http_certificate is not None and not known:
        with suppress(ValueError):
            ipaddress.ip_address(name)
            known = True
    if not name or not known:
        raise Problem(421, "the console does not serve this host name: SAGER_CONSOLE_HOSTS lists the allowed ones")


def host_of(netloc: str) -> str:
    """Return the lower-case name in a `Host` header, without the port."""
    try:
        return urlsplit(f"//{netloc}").hostname or ""
    except ValueError:
        return ""


def check_origin(request: Request) -> None:
    """Refuse a form that does not come from a page of the console."""
    # Browsers send `Origin` with every form, and `Sec-Fetch-Site` on secure connections.
    site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
    host = request.headers.get("host", "").lower()
    foreign = site not in (None, "same-origin") or (site is None and origin is None)
    if foreign or (origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}")):
        raise Problem(403, "this form does not come from a page of the console")


def check_csrf(request: Request, form: dict[str, str], expected: str) -> None:
    """Refuse a form without its session's secret; remove the secret from the fields."""
    in_form = form.pop(CSRF_FIELD, "")
    presented = request.headers.get(CSRF_HEADER) or in_form
    if not hmac.compare_digest(presented.encode(errors="surrogateescape"), expected.encode()):
        raise Problem(403, "this form belongs to another session: load the page and send the form again")


async def form_of(request: Request) -> dict[str, str]:
    """Read the fields of a form."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise Problem(415, "this is not a form")
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > FORM_BYTES:
            raise Problem(413, "the form is too large")
    return fields(body.decode("latin-1"))


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
