"""A browser without a screen: keeps a cookie, fills in forms, follows where it is sent."""

import re
from dataclasses import dataclass, field
from html import unescape
from urllib.parse import urlencode

from tests.unit.http.http_world import Reply, Served

_HIDDEN = re.compile(r'<input type="hidden" name="csrf" value="([^"]+)">')


@dataclass
class Visitor:
    """A browser that sends its cookie and these headers with each request."""

    served: Served
    cookie: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.served.port}"

    def get(self, path: str, **headers: str) -> Reply:
        return self._heard(self.served.request(path, **self._sent(), **headers))

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Reply:
        sent = {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded", **self._sent(), **headers}
        return self._heard(self.served.request(path, method="POST", body=urlencode(fields).encode(), **sent))

    def sign_in(self, token: str) -> Reply:
        return self.post("/console/login", {"token": token})

    def csrf(self, path: str = "/console/people") -> str:
        found = _HIDDEN.search(self.get(path).text)
        return unescape(found[1]) if found else ""

    def _sent(self) -> dict[str, str]:
        return {**self.headers, **({"Cookie": self.cookie} if self.cookie else {})}

    def _heard(self, reply: Reply) -> Reply:
        if "set-cookie" in reply.headers:
            self.cookie = reply.headers["set-cookie"].partition(";")[0]
        return reply


def page(path: str, **query: object) -> str:
    """The address of a page."""
    return f"/console{path}?{urlencode(query)}"
