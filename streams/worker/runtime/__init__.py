"""The run of agents: dispatch, executor, fence, producer, state, recovery with repairs of Faust, watchdog."""
