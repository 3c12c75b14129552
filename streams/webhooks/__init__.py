"""Posts changed slim skills to endpoints, signed after Standard Webhooks."""
