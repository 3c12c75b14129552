"""`sager eval`: how well ways to rank find what users really took."""
