"""Kafka without Faust: clients, security, topics, groups, scanner, follower, producers."""
