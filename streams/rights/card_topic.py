"""A person's card as its topic has it: newer than the snapshot, and there without one."""

from schemas import TOPICS, BadRecord, Card, decode
from streams.kafka.clients import partition_of
from streams.kafka.packed import unpack
from streams.kafka.scanner import Scanner
from streams.settings import Settings


def newest_card(settings: Settings, user: str) -> Card | None:
    """The user's card as it is now; None if there is none.

    It reads the partition that the user's card is on.

    Raises:
        BrokerUnreachable: Kafka cannot be read.
        NoSuchTopic: the deployment has no cards.
    """
    topic, key, found = TOPICS[Card.TOPIC], user.encode(), None
    with Scanner(settings) as scanner:
        where = scanner.partitions(topic.base)
        mine = [each for each in where if each.partition == partition_of(user, len(where))]
        for message in scanner.read(mine):
            if message.key() == key:
                found = message.value()
    if found is None:
        return None
    try:
        return decode(Card, unpack(found) if topic.packed else found)
    except BadRecord:  # the materializer reports it
        return None
