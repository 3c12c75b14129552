"""The errors of the package `streams`; each text names the next step."""


class StreamsError(Exception):
    """Base of all errors of the package `streams`."""


class KafkaUnreachable(StreamsError, ConnectionError):
    """No broker answers at the bootstrap servers."""


class KafkaRefused(KafkaUnreachable):
    """A broker answers, but the TLS or SASL handshake failed."""


class SecurityMisconfigured(StreamsError, ValueError):
    """A file for TLS or SASL is missing or invalid."""


class TopicsDiffer(StreamsError, ValueError):
    """A topic exists with other settings than the registry's."""


class MissingExtra(StreamsError, ImportError):
    """An optional part of the distribution is not installed."""


class NotProduced(StreamsError, RuntimeError):
    """The broker did not accept all records."""
