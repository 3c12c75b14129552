"""Webhooks: slim skills posted to an operator's endpoints as they change, signed as Standard Webhooks says.

A slim skill is state: an endpoint that is behind gets the newest of each person and domain only, and one that was away
for longer than Kafka keeps tombstones is told to forget what it holds, and gets everything anew. So there is nothing to
give up on while an endpoint is down; what it refuses while it takes others becomes a dead letter.
"""
