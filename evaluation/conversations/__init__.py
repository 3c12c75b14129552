"""What cards hold after conversations, and what they must not hold: played, matched with the truth, and counted."""
