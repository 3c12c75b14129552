"""Who may do what on Kafka: the access rules of each role, out of the topic registry and a deployment's settings."""
