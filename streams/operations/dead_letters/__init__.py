"""Dead letters: list them (`reading`), and replay their originals (`replay`). Kafka is the only store."""
