"""What librdkafka says of a failure, in words that say where and why."""

import re

from confluent_kafka import KafkaError

_PLACE = re.compile(
    r"^(?:GroupCoordinator: |(?:sasl_|ssl_?)\w*://)*(?P<place>[^\s/]+:\d+)/\w+: (?P<why>.*)$", re.DOTALL
)
_AFTER = re.compile(r" \((?:after|connecting to|in state)[^)]*\)")
_ADVICE = {
    KafkaError._AUTHENTICATION: "look at SAGER_KAFKA_SASL_USERNAME, SAGER_KAFKA_SASL_PASSWORD and "
    "SAGER_KAFKA_SASL_MECHANISM",
    KafkaError._SSL: "look at SAGER_KAFKA_SSL_CA, at the host names in SAGER_BOOTSTRAP, and at "
    "SAGER_KAFKA_SECURITY_PROTOCOL",
}
_SILENT = (KafkaError._ALL_BROKERS_DOWN, KafkaError._TIMED_OUT)
"""What says no more than that something failed."""


def cause_of(error: KafkaError) -> str:
    """Why the broker has not taken something; nothing where the error does not tell.

    >>> told = "localhost:9092/bootstrap: Connect to ipv4#127.0.0.1:9092 failed: Connection refused (after 0ms in x)"
    >>> cause_of(KafkaError(KafkaError._TRANSPORT, told))
    'broker unreachable at localhost:9092: connection refused'
    """
    if error.code() in _SILENT:
        return ""
    found = _PLACE.match(error.str())
    place, why = (found["place"], found["why"]) if found else ("", error.str())
    why = _AFTER.sub("", why).rpartition("failed: ")[2].strip()
    if error.code() in _ADVICE:
        return f"broker{_at(place)} refuses the connection: {why}; {_ADVICE[error.code()]}"
    if error.code() in (KafkaError._TRANSPORT, KafkaError._RESOLVE):
        reason = why.rpartition(": ")[2] if error.code() == KafkaError._RESOLVE else why
        return f"broker unreachable{_at(place)}: {_lower(reason)}" if place else ""
    return why or error.name()


def unreachable(bootstrap: str) -> str:
    """The cause where nothing more is known than that nobody answers."""
    return f"broker unreachable at {bootstrap}: no answer"


def _at(place: str) -> str:
    return f" at {place}" if place else ""


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
