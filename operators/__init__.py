"""Pure functions over `schemas`. No Kafka, Faust or DuckDB, no globals, no clock."""
