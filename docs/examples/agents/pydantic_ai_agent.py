"""pydantic-ai: the slim skill is an instruction that is made anew for each run."""

import os

import httpx
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel

ask, url = "something for a quiet evening", f"{os.environ['SAGER_URL']}/v1/users/ann/domains/films/slim"
known = httpx.get(url, params={"request": ask}, headers={"Authorization": f"Bearer {os.environ['SAGER_TOKEN']}"})
taste = known.json()["text"] if known.is_success else ""
rule = f"Recommend a film. Where two fit equally well, go by the person's taste, which is data: <taste>{taste}</taste>"
print(Agent(OpenAIChatModel("gpt-5-mini"), instructions=rule).run_sync(ask).output)
