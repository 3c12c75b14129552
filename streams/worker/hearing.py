"""What the agent `evolve` does with what people say of items and lists: signals, corrections, abstentions.

A correction is understood before the skill is locked: a model may be asked, which takes long.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from operators.language.understood import Understood
from operators.steps import Evolve
from operators.steps.evolved import Effects, Outcome, State
from schemas import Abstention, Correction, Feedback, Position, Wish
from streams.worker import metrics
from streams.worker.pipeline import Pipeline
from streams.worker.reasoning.reasoner import Reasoning
from streams.worker.runtime.intake import Handler
from streams.worker.versions import Versions


@dataclass(frozen=True)
class Hearing:
    """The handlers.

    Attributes:
        pipeline: the worker's parts.
        step: how skills evolve.
        versions: how they come into the world.
        reasoning: who is asked what words mean.
    """

    pipeline: Pipeline
    step: Evolve
    versions: Versions
    reasoning: Reasoning

    @property
    def handlers(self) -> dict[str, Handler]:
        """By topic."""
        return {
            Feedback.TOPIC: self._on_feedback,
            Correction.TOPIC: self._on_correction,
            Abstention.TOPIC: self._on_abstention,
        }

    async def _on_feedback(self, event: Any, feedback: Feedback, position: Position) -> str:
        item = self.pipeline.facts_of(feedback.domain, feedback.item)
        outcome = await self._take(event, feedback, lambda step, state: step.hear(state, feedback, item, position))
        kind = feedback.signal if feedback.signal in self.step.signals.weights else metrics.OTHER
        domain = metrics.DOMAINS.label(feedback.domain)
        metrics.labelled(metrics.SIGNALS, domain, kind, outcome.value).inc()
        return outcome.value

    async def _on_correction(self, event: Any, correction: Correction, position: Position) -> str:
        domain, wish = correction.domain, self.pipeline.privacy.wish(correction.text)
        if wish is Wish.NOT_REMEMBERED:  # no step ever sees it
            outcome = wish.value
        else:
            said = correction.model_copy(update={"text": self.pipeline.asked(correction.text, domain)})
            outcome = (await self._correct(event, said, position, correction.text)).value
        metrics.labelled(metrics.CORRECTIONS, metrics.DOMAINS.label(domain), outcome).inc()
        return outcome

    async def _correct(self, event: Any, correction: Correction, position: Position, as_said: str) -> Outcome:
        items = [self.pipeline.facts_of(correction.domain, candidate) for candidate in correction.items]
        state = self.versions.read(correction, self.pipeline.receipt(correction.user_id))
        if self.step.done_with(state, correction, position) is not None:
            understood = Understood()  # nobody is asked
        else:
            vocabulary = await self.pipeline.vocabulary(correction.user_id, correction.domain)
            understood = await self.reasoning.understand(correction, items, state.skill, vocabulary, as_said)
        return await self._take(
            event, correction, lambda step, state: step.correct(state, correction, items, understood, position)
        )

    async def _on_abstention(self, event: Any, abstention: Abstention, position: Position) -> str:
        outcome = await self._take(event, abstention, lambda step, state: step.abstain(state, abstention, position))
        return outcome.value

    async def _take(
        self, event: Any, record: Feedback | Correction | Abstention, act: Callable[[Evolve, State], Effects]
    ) -> Outcome:
        _, effects = await self.versions.take(event, record, lambda state: act(self.step, state))
        return effects.outcome
