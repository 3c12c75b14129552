"""Dispatch, execution, fencing, producing, state, recovery and the watchdog of a worker."""
