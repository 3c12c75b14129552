"""Tasks for rankers and clients for them, with only what a test cares about. All data is made up."""

import re
from typing import Any

from operators.rank import RankTask
from schemas import Facet
from streams.llm import CallRecord
from streams.llm.client import LlmClient
from tests.builders import id_of, item_facts
from tests.openai_server import OpenAiServer

ITEMS = (
    item_facts("i-emma", "genre: romance", "era: 1810s", "mood: warm", title="Emma"),
    item_facts("i-dune", "genre: science fiction", "author: Frank Herbert", "mood: epic", title="Dune"),
    item_facts("i-sleep", "genre: noir", "author: Chandler", "mood: wry", title="The Big Sleep"),
    item_facts("i-solaris", "genre: science fiction", "author: Stanislaw Lem", "mood: eerie", title="Solaris"),
)
FACETS = (
    Facet(facet="drawn to epic worlds (mood)", confidence=0.8, supporting_neighbors=("item:i9",)),
    Facet(facet="author: Frank Herbert", confidence=0.6, attribute_id=id_of("author: Frank Herbert")),
)
TASK = RankTask(
    ITEMS,
    instruction="Some science fiction, please",
    facets=FACETS,
    companions={"i-dune": 0.9, "i-sleep": 0.2},
    slim_skill="likes: eerie, noir | style: explores many genres",
    seed="r1",
)


def client_of(server: OpenAiServer, calls: list[CallRecord] | None = None, **settings: Any) -> LlmClient:
    chosen: dict[str, Any] = {"timeout_seconds": 2.0, "attempts": 2, "max_retry_seconds": 0.05} | settings
    on_call = calls.append if calls is not None else None
    return LlmClient(base_url=server.base_url, api_key="sk-secret", model="fake", on_call=on_call, **chosen)


def section(prompt: str, tag: str) -> list[str]:
    found = re.search(rf"^<{tag}>\n(.*?)\n</{tag}>$", prompt, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1].split("\n")


def titles(prompt: str) -> list[str]:
    """The candidates' titles in their order of presentation."""
    return [line.split(": ", 1)[1].split(" | ")[0] for line in section(prompt, "candidates")]
