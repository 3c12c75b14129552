"""The inputs of reasoning: reasoners, models, global skills, weights."""
