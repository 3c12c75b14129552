"""The client's errors, and readable causes of librdkafka errors."""

import re

from confluent_kafka import KafkaError

_PLACE = re.compile(
    r"^(?:GroupCoordinator: |(?:sasl_|ssl_?)\w*://)*(?P<place>[^\s/]+:\d+)/\w+: (?P<why>.*)$", re.DOTALL
)
_AFTER = re.compile(r" \((?:after|connecting to|in state)[^)]*\)")
_ADVICE = {
    KafkaError._AUTHENTICATION: "check SAGER_KAFKA_SASL_USERNAME, SAGER_KAFKA_SASL_PASSWORD and "
    "SAGER_KAFKA_SASL_MECHANISM",
    KafkaError._SSL: "check SAGER_KAFKA_SSL_CA, the host names in SAGER_BOOTSTRAP, and SAGER_KAFKA_SECURITY_PROTOCOL",
}


class SagerClientError(Exception):
    """Base of all errors of the package `sager_client`."""


class Misconfigured(SagerClientError):
    """A setting is missing or wrong."""


class NotShown(SagerClientError, ValueError):
    """The item was not shown."""


class UnknownOption(SagerClientError, ValueError):
    """The ranking has no such question, or the question no such option."""


class NotDelivered(SagerClientError, RuntimeError):
    """Some events are not acknowledged: `unsent` ones wait, `refused` ones were dropped."""

    def __init__(self, text: str, cause: str = "", unsent: int = 0, refused: int = 0) -> None:
        super().__init__(text)
        self.cause, self.unsent, self.refused = cause, unsent, refused


class BrokerUnreachable(SagerClientError, ConnectionError):
    """A topic could not be read in time."""


class NoAnswer(SagerClientError, TimeoutError):
    """The worker did not answer in time."""


class Closed(SagerClientError, RuntimeError):
    """The object was used after `close()`."""


def cause_of(error: KafkaError) -> str:
    """Return why the broker has not accepted a record; empty if unknown.

    >>> text = "localhost:9092/bootstrap: Connect to ipv4#127.0.0.1:9092 failed: Connection refused (after 0ms in x)"
    >>> cause_of(KafkaError(KafkaError._TRANSPORT, text))
    'broker unreachable at localhost:9092: connection refused'
    """
    if error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT):
        return ""
    found = _PLACE.match(error.str())
    place, why = (f" at {found['place']}", found["why"]) if found else ("", error.str())
    why = _AFTER.sub("", why).rpartition("failed: ")[2].strip()
    if error.code() in _ADVICE:
        return f"broker{place} refuses the connection: {why}; {_ADVICE[error.code()]}"
    if error.code() in (KafkaError._TRANSPORT, KafkaError._RESOLVE):
        reason = why.rpartition(": ")[2] if error.code() == KafkaError._RESOLVE else why
        return f"broker unreachable{place}: {reason[:1].lower()}{reason[1:]}" if place else ""
    return why or error.name()


def no_topic(name: str, bootstrap: str) -> str:
    """Return the cause if the broker has no such topic."""
    return (
        f"there is no topic {name} at {bootstrap}: is SAGER_PREFIX right, and may this client use it? "
        "`sager up` and `sager worker` create the topics"
    )
