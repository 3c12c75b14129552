"""What the HTTP API bears on one core: reads, events, hostile clients and idle streams."""
