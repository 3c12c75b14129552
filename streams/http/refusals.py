"""Why a request is refused before the application sees it: a closed set, whose texts quote nothing of the request."""

from dataclasses import dataclass

PATH = "/.refused/"
"""Where the application answers a refusal. Whoever asks for such a path gets the answer that it names."""


@dataclass(frozen=True)
class Refusal:
    """One reason to refuse a request.

    Attributes:
        name: the label of the metric.
        status: the answer's status.
        detail: what is wrong, and what to do.
    """

    name: str
    status: int
    detail: str

    @property
    def request(self) -> bytes:
        """A well-formed request in place of the refused one, so that its answer keeps its place in the order."""
        return f"GET {PATH}{self.name} HTTP/1.1\r\nHost: refused\r\n\r\n".encode()


class Refused(Exception):
    """A request is refused.

    Args:
        refusal: why.
    """

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.name)
        self.refusal = refusal


MALFORMED = Refusal("malformed", 400, "the request is not valid HTTP/1.1")
TOO_SLOW = Refusal("too-slow", 408, "the request did not arrive in time")
TRANSFER_ENCODING = Refusal("transfer-encoding", 411, "send the body with a Content-Length, in one piece")
BODY_TOO_LARGE = Refusal("body-too-large", 413, "the body is too large")
TARGET_TOO_LONG = Refusal("target-too-long", 414, "the path and query are too long")
CONTENT_ENCODING = Refusal("content-encoding", 415, "send the body as it is, without a Content-Encoding")
EXPECTATION = Refusal("expectation", 417, "send the body at once, without Expect")
HEADERS_TOO_LARGE = Refusal("headers-too-large", 431, "the headers are too large, or too many")
METHOD = Refusal("method", 501, "the server does not know this method")
UPGRADE = Refusal("upgrade", 501, "the server speaks HTTP/1.1 and nothing else")
VERSION = Refusal("version", 505, "the server speaks HTTP/1.1 and nothing else")

REFUSALS = {
    each.name: each
    for each in (
        MALFORMED, TOO_SLOW, TRANSFER_ENCODING, BODY_TOO_LARGE, TARGET_TOO_LONG, CONTENT_ENCODING, EXPECTATION,
        HEADERS_TOO_LARGE, METHOD, UPGRADE, VERSION,
    )
}  # fmt: skip
