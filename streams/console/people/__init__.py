"""The pages of people: their skills and cards, the reasons, and changes."""
