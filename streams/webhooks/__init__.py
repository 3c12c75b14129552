"""Posts slim skills to endpoints of hosts as they change, signed after Standard Webhooks."""
