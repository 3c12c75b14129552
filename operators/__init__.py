"""Pure functions over `schemas`: no Kafka, no DuckDB, no globals, no clock."""
