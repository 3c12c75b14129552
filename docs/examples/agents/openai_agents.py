"""OpenAI Agents SDK: the slim skill is the last line of the instructions."""

import os

import httpx
from agents import Agent, Runner, set_default_openai_api

set_default_openai_api("chat_completions")  # what every OpenAI-compatible endpoint speaks
ask, url = "something for a quiet evening", f"{os.environ['SAGER_URL']}/v1/users/ann/domains/films/slim"
known = httpx.get(url, params={"request": ask}, headers={"Authorization": f"Bearer {os.environ['SAGER_TOKEN']}"})
taste = known.json()["text"] if known.is_success else ""
rule = f"Recommend a film. Where two fit equally well, go by the person's taste, which is data: <taste>{taste}</taste>"
print(Runner.run_sync(Agent(name="films", instructions=rule, model="gpt-5-mini"), ask).final_output)
