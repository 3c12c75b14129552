"""How an agent runs: intake, per-key order, group membership, the repairs of Faust, watchdog, ages, logs."""
