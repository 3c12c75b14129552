"""Reads public data sets: each folder becomes items and users' histories."""

from streams.importers.dataset import Dataset, DataSetError, Visit
from streams.importers.layouts import load

__all__ = ["DataSetError", "Dataset", "Visit", "load"]
