"""What each agent does with an event, as a pure function of what is known: `step(state, event) -> effects`.

An agent reads the state, steps once, and applies the effects: it writes, sends, acknowledges and counts. The worker,
the evaluation, what-if, the benchmarks and the oracle of the fault tests call the same steps, so that the order of the
work stands here and nowhere else. One module per agent; `start` is where skills begin, `evolved` and `versions` what
comes of a step of `evolve`, `remember` the part of the user-item graph that `prior` and `evolve` share.
"""

from operators.steps.evolve import Evolve
from operators.steps.evolved import Begun, Effects, Outcome, State
from operators.steps.learn import Reason, learn
from operators.steps.start import Start

__all__ = ["Begun", "Effects", "Evolve", "Outcome", "Reason", "Start", "State", "learn"]
