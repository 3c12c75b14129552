"""The run of agents: intake, per-key order, membership, sending, tables and recovery, repairs of Faust, watchdog."""
