"""Wording of skills and lines for the readers of a deployment."""
