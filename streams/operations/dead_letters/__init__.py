"""Operators' tools for dead letters: read them (`reading`), replay their originals (`replay`).

Kafka is the only store. A replayed record carries a header that names its dead letter, and the dead letter is sent to
its topic a second time with a header that names where the original went. Counting dead letters by id counts it once.
"""
