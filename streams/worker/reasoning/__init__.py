"""What an agent reasons with: reasoners, rankers, models, global skills."""
