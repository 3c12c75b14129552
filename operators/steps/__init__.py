"""The steps of each agent, as pure functions: `step(state, event) -> effects`.

An agent reads the state, steps once, and applies the effects. The worker, the evaluation, what-if, the benchmarks and
the oracle of the fault tests call the same steps.
"""
