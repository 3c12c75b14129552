"""Readers of data sets, by mappings of their columns."""
