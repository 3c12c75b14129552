"""Everything that speaks to Kafka without Faust: clients, security, topics, groups, scanning, following, producing."""
