"""The LLM client; only `streams.llm.client` imports `openai` (50 MB)."""
