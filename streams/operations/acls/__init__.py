"""Kafka ACLs: the access rules of each role, derived from the topic registry and a deployment's settings."""
