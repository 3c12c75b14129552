"""The meter of `benchmarks.stages`: which stages there are, and what each has cost so far."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from operators.evolve import ReasonerUnavailable
from operators.tokens import count_tokens
from schemas import Model, decode, encode
from streams.llm import CallRecord
from streams.llm.client import LlmClient

WAYS = {"R": "all by rules", "E": "LLM evolves", "K": "LLM evolves and ranks", "A": "LLM in every stage"}
"""Configurations of a worker, by the letters under which stages name them."""
STAGES = {
    "StatInit: parse an item": "",
    "prior: profile and memory": "",
    "StatInit: seed a skill": "",
    "retrieve: items tell": "REKA",
    "retrieve": "REKA",
    "LLM_Mem: facets": "A",
    "slim by rule": "REK",
    "LLM_Ext: slim": "A",
    "rank: deterministic": "RE",
    "rank: first-token, 2 orders": "KA",
    "rank: listwise": "",
    "rank: pointwise": "",
    "contrast: ranking": "REKA",
    "contrast: selection": "REKA",
    "evolve: begin": "REKA",
    "propagate: items hear": "REKA",
    "gate": "EKA",
    "evolve: rules": "R",
    "evolve: LLM": "EKA",
    "evolve: finish": "REKA",
}
"""Every stage, in the order of an interaction, with the configurations that run it. Histories come before any."""
READ = ("RankRequest", "Ranking", "Selection", "Contrast", "Touch")
"""Events that a worker decodes at every interaction; the values of its tables it keeps decoded."""

_T = TypeVar("_T")


@dataclass
class Row:
    """What one stage has cost so far."""

    runs: int = 0
    cpu: float = 0.0
    calls: int = 0
    prompts: list[int] = field(default_factory=list)
    completions: list[int] = field(default_factory=list)
    ms: list[int] = field(default_factory=list)
    size: int = 0
    failed: int = 0


class Meter:
    """Runs stages, and is the client through which they ask: it counts what goes through."""

    def __init__(self, url: str, model: str, key: str, timeout: float, sizes_in_schema: bool) -> None:
        self.rows: dict[str, Row] = {name: Row() for name in STAGES}
        self.interactions = 0
        self._sent: list[str] = []
        self._records: list[CallRecord] = []
        self._runner = asyncio.Runner()
        self._client = LlmClient(
            base_url=url,
            api_key=key,
            model=model,
            timeout_seconds=timeout,
            attempts=2,
            max_retry_seconds=1.0,
            sizes_in_schema=sizes_in_schema,
            on_call=self._records.append,
        )

    def run(self, stage: str, do: Callable[[], _T]) -> _T:
        """One run of a stage."""
        row = self.rows.setdefault(stage, Row())
        began = time.process_time()
        result = do()
        row.cpu += time.process_time() - began
        row.runs += 1
        return result

    def ask(self, stage: str, do: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """One run of a stage with a model; what it says is not used, so that every run sees the same world."""
        self._sent.clear()
        self._records.clear()
        row = self.rows[stage]
        try:
            self.run(stage, lambda: self._runner.run(do()))
        except ReasonerUnavailable:
            row.failed += 1
        row.calls += len(self._records)
        row.prompts += map(count_tokens, self._sent)
        row.completions += [record.completion_tokens for record in self._records]
        row.ms += [record.latency_ms for record in self._records]

    def codec(self, event: Model) -> None:
        """An event or a state to bytes and back."""
        name = type(event).__name__
        raw = self.run(f"encode {name}", lambda: encode(event))
        self.run(f"decode {name}", lambda: decode(type(event), raw))
        self.rows[f"encode {name}"].size += len(raw)

    async def ask_model(self, prompt: str, schema: Mapping[str, object], **more: Any) -> Any:
        """A question for JSON."""
        self._sent.append(prompt)
        return await self._client.ask(prompt, schema, **more)

    async def first_token(self, prompt: str, choices: Sequence[str], **more: Any) -> Any:
        """A question for a first token."""
        self._sent.append(prompt)
        return await self._client.first_token(prompt, choices, **more)

    def forget(self, but: Sequence[str]) -> None:
        """Start anew, but for these stages."""
        self.rows.update({name: Row() for name in self.rows if name not in but})
        self.interactions = 0

    def close(self) -> None:
        """End the client and its loop."""
        self._runner.run(self._client.aclose())
        self._runner.close()


class Asker:
    """The meter as the operators know a client."""

    def __init__(self, meter: Meter) -> None:
        self.ask, self.first_token = meter.ask_model, meter.first_token
