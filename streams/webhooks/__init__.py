"""Webhooks: slim skills posted to an operator's endpoints as they change, signed after Standard Webhooks.

A slim skill is state: an endpoint that is behind gets the newest of each user and domain only, and one that was away
for longer than Kafka keeps tombstones drops what it holds and gets everything again. So no message is given up while an
endpoint is down; one that it refuses while it accepts others becomes a dead letter.
"""
