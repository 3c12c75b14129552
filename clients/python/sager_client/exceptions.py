"""Every error that the client raises on purpose, under one base; each also is a builtin's kind."""


class SagerClientError(Exception):
    """Base of all errors of the package `sager_client`."""


class Misconfigured(SagerClientError, ValueError):
    """A setting is missing, wrong, or differs from what the broker has."""


class NotShown(SagerClientError, ValueError):
    """The item that is said to be taken does not stand in the ranking."""


class NotAsked(SagerClientError, ValueError):
    """The ranking has no such question, or the question no such answer."""


class NotDelivered(SagerClientError, RuntimeError):
    """The broker has not taken all events; the text says how many, and why.

    Args:
        text: what happened, for a person.
        cause: why, such as `broker unreachable at localhost:9092: connection refused`.
        unsent: events that are still waiting to be delivered.
        refused: events that were given up.
    """

    def __init__(self, text: str, cause: str = "", unsent: int = 0, refused: int = 0) -> None:
        super().__init__(text)
        self.cause = cause
        self.unsent = unsent
        self.refused = refused


class BrokerUnreachable(SagerClientError, ConnectionError):
    """The slim skills could not be read in time."""


class NoAnswer(SagerClientError, TimeoutError):
    """A rank request was not answered in time."""


class Closed(SagerClientError, RuntimeError):
    """It was used after `close()`."""
